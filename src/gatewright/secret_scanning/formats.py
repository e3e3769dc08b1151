"""Table of RE2 patterns of secrets with a recognizable prefix, alphabet or length: vendor tokens, webhooks, password hashes, wallets.

Vendors publish these forms so that leaked tokens can be found. A row is (rule, hint, rest): `hint` is what
the text must hold for the rule to be worth a look and the first part of the pattern, `rest` the other part. Hints are what
the quick scan of all text consists of, so they are as particular as a format allows, and they must hold at least
four fixed characters or be the whole pattern.

Patterns are RE2, on bytes.
"""

from __future__ import annotations

__all__ = ["FORMATS", "HEX", "UUID"]

HEX = "[0-9a-fA-F]"
UUID = f"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}"
_WORD = "[A-Za-z0-9_-]"  # base64url
_AN = "[A-Za-z0-9]"
_B64 = "[A-Za-z0-9+/]"

Row = tuple[str, str, str]

_CLOUD: tuple[Row, ...] = (
    ("aws-access-key-id", "\\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", ""),
    ("aws-bedrock-key", "\\bABSK[A-Za-z0-9+/]{20}", f"{_B64}{{60,}}={{0,2}}"),
    ("aws-bedrock-key", "bedrock-api-key-", "[A-Za-z0-9+/=%_-]{20,}"),
    ("gcp-api-key", "\\bAIza[A-Za-z0-9_-]{20}", "[A-Za-z0-9_-]{15}"),
    ("gcp-oauth", "GOCSPX-", f"{_WORD}{{20,40}}"),
    ("gcp-oauth", "ya29[.]", f"{_WORD}{{20,}}"),
    ("gcp-oauth", f"1//0{_WORD}{{40}}", f"{_WORD}*"),
    ("gcp-hmac", "GOOG1?[A-Z0-9]{20}", "[A-Z0-9]{0,40}"),
    ("azure-client-secret", "[A-Za-z0-9_~.]{3}[0-9]Q~", "[A-Za-z0-9_~.-]{31,34}"),
    ("azure-key", "AccountKey=|SharedAccessKey=", f"{_B64}{{40,}}={{0,2}}"),
    ("azure-key", f"{_B64}(?:ACDb|AzCa|AzFu|AzSe|[+]ASt|APIM){_B64}{{4,8}}==?", ""),
    ("azure-sas", "[?&;]sig=[A-Za-z0-9%+/]{20}", "[A-Za-z0-9%+/]{20,}=?"),
    ("azure-devops", f"AZDO{_AN}{{4}}", ""),
    ("alibaba-key-id", f"\\bLTAI{_AN}{{12,26}}", ""),
    ("tencent-key-id", f"\\bAKID{_AN}{{13,32}}", ""),
    ("volcengine-key-id", f"AKLT{_WORD}{{40,}}", ""),
    ("yandex-key", f"AQVN{_WORD}{{35,38}}", ""),
    ("yandex-key", f"\\bYC{_WORD}{{38}}", ""),
    ("yandex-token", f"\\bt1[.]{_WORD}+={{0,2}}[.]{_WORD}{{60,}}={{0,2}}", ""),
    ("yandex-token", f"\\by[0-3]_{_WORD}{{50,}}", ""),
    ("scaleway-key-id", "\\bSCW[A-Z0-9]{17}", ""),
    ("digitalocean-token", "do[opr]_v1_", f"{HEX}{{64}}"),
    ("heroku-key", "HRKU-", f"{_WORD}{{20,}}"),
    ("fly-token", "fo1_|fm1[ar]_|fm2_", "[A-Za-z0-9+/=_-]{40,}"),
    ("fly-token", "FlyV1 [A-Za-z0-9+/=_,-]{8}", "[A-Za-z0-9+/=_,-]{32,}"),
    ("netlify-token", "\\bnf[pcoub]_", f"{_AN}{{36,}}"),
    ("vercel-token", "\\bvc[pikra]_", f"{_AN}{{24,}}"),
    ("render-key", "\\brnd_", f"{_AN}{{28,}}"),
    ("cloudflare-origin-key", f"v1[.]0-{HEX}{{24}}-", f"{HEX}{{120,}}"),
    ("cloudflare-token", "\\bcf(?:ut|at|k)_", f"{_AN}{{36,}}"),
    ("openshift-token", "sha256~", f"{_WORD}{{43}}"),
    ("rancher-token", "token-[a-z0-9]{5}:", "[a-z0-9]{54}"),
    ("terraform-token", "[A-Za-z0-9]{14}[.]atlasv1[.]", "[A-Za-z0-9=_-]{60,}"),
    ("pulumi-token", "\\bpul-", f"{HEX}{{40}}"),
    ("infracost-key", "\\bico-", f"{_AN}{{32}}"),
    ("octopus-key", "API-[A-Z0-9]{26}", ""),
    ("vault-token", "\\bhv[sbr][.]", f"{_WORD}{{24,}}"),
    ("doppler-token", "\\bdp[.](?:pt|ct|st|sa|scim|audit|said)[.]", "[A-Za-z0-9_.-]{40,}"),
    ("harness-token", f"\\b[ps]at[.]{_WORD}{{22}}[.]", f"{_AN}{{24}}[.]{_AN}{{20}}"),
    ("onepassword-token", "\\bops_eyJ", f"{_B64}{{40,}}={{0,3}}"),
    ("onepassword-secret-key", "\\bA3-[A-Z0-9]{6}-", "[A-Z0-9]{5,6}-?[A-Z0-9-]{15,30}"),
    ("apify-key", "\\bapify_api_", f"{_AN}{{30,}}"),
    ("adafruit-key", "\\baio_", f"{_AN}{{28}}"),
    ("vk-token", "\\bvk1[.]a[.]", f"{_WORD}{{60,}}"),
    ("cursor-key", f"\\bcrsr_{HEX}{{40}}", f"{HEX}*"),
    ("cursor-key", f"\\bkey_{HEX}{{32}}", f"{HEX}*"),
    ("twitch-token", "\\boauth:[a-z0-9]{30}\\b", ""),
    ("login-code", "[?&](?:code|appid|otp)=[A-Za-z0-9_-]{24}", f"{_WORD}*"),
    ("url-password", ":(?:\\\\?/){2}[A-Za-z0-9_-]{16,64}:x-oauth-basic@", ""),
    # The private member of a JSON Web Key (RFC 7518, 6).
    ("private-key", '\\\\?"[dk]\\\\?" ?: ?\\\\?"[A-Za-z0-9_-]{42}', f"{_WORD}+"),
    ("private-feed", f"/private-{HEX}{{32}}/", ""),
    ("signed-url", "[?&](?:X-Amz-|X-Goog-)?Signature=", "[A-Za-z0-9%~_+/=-]{40,}"),
    ("age-secret-key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
    ("infisical-token", f"\\bst[.]{HEX}{{8}}", f"[0-9a-f-]{{10,}}[.]{HEX}{{20,}}[.]{HEX}{{20,}}"),
    ("tailscale-key", "tskey-", "[A-Za-z0-9-]{16,}"),
    ("prefect-key", "\\bpn[ub]_", f"{_AN}{{36}}"),
    ("nomad-consul-token", "\\bsgp_|\\bslk_|\\bsgph_", "[0-9a-fA-Z_]{40,}"),
    ("circleci-token", "CCIP(?:AT|RJ)_", "[A-Za-z0-9_]{30,}"),
    ("buildkite-token", "\\bbk[uac][ac]?[at]?_", f"{HEX}{{40}}"),
    ("endorlabs-key", "endr[+]", "[A-Za-z0-9-]{16}"),
    ("snowflake-token", "ver:1-hint:", "[A-Za-z0-9+/=-]{20,}"),
    ("cisco-meraki", "\\bx-cisco-meraki-api-key\\W{1,6}", f"{HEX}{{40}}"),
)

_DATA: tuple[Row, ...] = (
    ("planetscale-secret", "pscale_(?:tkn|pw|oauth)_", "[A-Za-z0-9_=.-]{32,64}"),
    ("databricks-token", f"\\bdapi{HEX}{{32}}", "(?:-[0-9])?"),
    ("supabase-key", "\\bsbp_(?:oauth_|v0_)?|\\bsb_secret_", f"{_WORD}{{22,}}"),
    ("neon-key", "\\bnapi_", "[a-z0-9]{50,}"),
    ("clickhouse-key", f"\\b4b1d{_AN}{{38}}\\b", ""),
    ("mongodb-atlas-secret", "mdb_sa_sk_", f"{_WORD}{{30,}}"),
    ("confluent-secret", "\\bcflt", f"{_B64}{{60}}"),
    ("pinecone-key", "\\bpcsk_", "[A-Za-z0-9_]{40,}"),
    ("airtable-token", f"\\bpat{_AN}{{14}}[.]{HEX}{{20}}", f"{HEX}{{44}}"),
    ("artifactory-key", f"AKC[a-z]{_AN}{{20}}", f"{_AN}{{20,}}"),
    # `ref` in base64, as in `reftkn:`.
    ("artifactory-token", f"\\bcmVmd{_AN}{{30}}", f"{_AN}{{20,}}"),
    (
        "authress-key",
        "\\b(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,40}[.]",
        "[A-Za-z0-9]{4,8}[.]acc[_-][A-Za-z0-9-]{10,32}[.][A-Za-z0-9+/_=-]{30,120}",
    ),
)

_AI: tuple[Row, ...] = (
    ("anthropic-key", "\\bsk-ant-", f"{_WORD}{{20,}}"),
    ("openrouter-key", "\\bsk-or-v1-", f"{HEX}{{40,}}"),
    ("openai-key", "\\bsk-(?:proj|svcacct|admin|None|service)-", f"{_WORD}{{20,}}"),
    ("openai-key", f"\\bsk-{_AN}{{20}}", f"{_AN}{{8,}}"),
    # `OpenAI` in base64.
    ("openai-key", f"T3BlbkFJ{_AN}{{8}}", f"{_AN}{{8,}}"),
    ("langfuse-key", "\\bsk-lf-", UUID),
    ("huggingface-token", "\\bhf_[A-Za-z0-9]{20}", f"{_AN}{{10,}}"),
    ("huggingface-token", "\\bapi_org_", f"{_AN}{{30,}}"),
    ("perplexity-key", "\\bpplx-", f"{_AN}{{40,}}"),
    ("groq-key", "\\bgsk_", f"{_AN}{{40,}}"),
    ("xai-key", "\\bxai-", f"{_AN}{{60,}}"),
    ("replicate-token", f"\\br8_{_AN}{{37}}", ""),
    ("together-key", "\\btgp_v1_", f"{_WORD}{{30,}}"),
    ("fireworks-key", f"\\bfw_{_AN}{{22,}}", ""),
    ("nvidia-key", "\\bnvapi-", f"{_WORD}{{40,}}"),
    ("elevenlabs-key", f"\\bsk_{HEX}{{48}}", ""),
    ("langsmith-key", "\\blsv2_(?:pt|sk)_", f"{HEX}{{32}}_{HEX}{{10}}"),
    ("tavily-key", "\\btvly-", "[A-Za-z0-9-]{20,}"),
    ("voyage-key", f"\\bpa-{_WORD}{{43}}\\b", ""),
    ("cerebras-key", "\\bcsk-", "[a-z0-9]{40,}"),
    ("jina-key", f"\\bjina_{HEX}{{32}}", f"{_WORD}{{10,}}"),
    ("firecrawl-key", f"\\bfc-{HEX}{{32}}", ""),
    ("e2b-key", f"\\be2b_{HEX}{{40}}", ""),
    ("helicone-key", "\\bsk-helicone-", "[a-z0-9-]{20,}"),
)

_CODE: tuple[Row, ...] = (
    ("github-token", "gh[pousr]_[A-Za-z0-9]{16}", f"{_AN}{{20,}}"),
    ("github-token", "github_pat_", "[A-Za-z0-9_]{36,}"),
    (
        "gitlab-token",
        "\\bgl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|oas|wt|rt)-",
        "[A-Za-z0-9_.=-]{20,}",
    ),
    ("gitlab-token", "GR1348941", f"{_WORD}{{20}}"),
    ("gitlab-session", "_gitlab_session=", "[0-9a-z]{32}"),
    ("bitbucket-token", "\\bATBB[A-Za-z0-9]{16}", f"{_AN}{{8,}}"),
    ("bitbucket-token", "\\bATCTT3", "[A-Za-z0-9_=-]{40,}"),
    ("atlassian-token", "ATATT3", "[A-Za-z0-9_=-]{60,}"),
    ("gitee-token", "\\bgitee_", f"{HEX}{{32}}"),
    ("npm-token", "\\bnpm_", f"{_AN}{{36}}"),
    ("pypi-token", "pypi-Ag", f"{_WORD}{{50,}}"),
    ("rubygems-key", "rubygems_", f"{HEX}{{48}}"),
    ("nuget-key", "\\boy2[a-z0-9]{43}\\b", ""),
    ("crates-token", f"\\bcio{_AN}{{32}}\\b", ""),
    ("clojars-token", "CLOJARS_", "[A-Za-z0-9]{60}"),
    ("docker-token", "dckr_[po]at_", f"{_WORD}{{27,}}"),
    ("sonar-token", f"\\bsq[pua]_{HEX}{{40}}", ""),
    ("postman-key", f"PMAK-{HEX}{{24}}", f"-{HEX}{{34}}"),
    ("readme-key", "\\brdme_", "[a-z0-9]{70}"),
    ("sentry-token", "sntr(?:ys|yu|ya|yi)_", "[A-Za-z0-9+/=_-]{30,}"),
    ("sidekiq-key", f"\\b{HEX}{{8}}:{HEX}{{8}}@", ""),
    ("jetbrains-token", "\\bperm[:-][A-Za-z0-9+/=]{8,}[.]", f"{_B64}{{8,}}=*[.]{_AN}{{20,}}"),
    (
        "launchdarkly-key",
        "\\b(?:api|sdk|mob)-[0-9a-f]{8}-[0-9a-f]{4}-",
        "[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
)

_MONEY: tuple[Row, ...] = (
    ("stripe-key", "\\b[sr]k_(?:test|live|prod)_", f"{_AN}{{10,}}"),
    ("webhook-secret", "\\bwhsec_", "[A-Za-z0-9+/=]{20,}"),
    ("square-token", f"sq0(?:atp|csp|idp)-{_WORD}{{8}}", f"{_WORD}{{14,}}"),
    ("square-token", "\\bEAAA[A-Za-z0-9+/=_-]{22}", "[A-Za-z0-9+/=_-]*"),
    ("facebook-token", f"\\bEAA[A-Za-z]{_AN}{{60}}", f"{_AN}*"),
    ("facebook-app-token", f"\\b[0-9]{{15,16}}(?:[|%]|%7C){_WORD}{{27,40}}", ""),
    (
        "braintree-token",
        "access_token[$](?:production|sandbox)[$]",
        f"[0-9a-z]{{16}}[$]{HEX}{{32}}",
    ),
    ("flutterwave-key", "FLW(?:SECK|PUBK)(?:_TEST|_LIVE)?-", "[A-Za-z0-9]{12,40}(?:-X)?"),
    ("plaid-token", "access-(?:sandbox|development|production)-", UUID),
    ("razorpay-key", "rzp_(?:live|test)_", f"{_AN}{{14,}}"),
    ("shippo-token", "shippo_(?:live|test)_", f"{HEX}{{40}}"),
    ("easypost-key", f"EZ[AT]K{_AN}{{30}}", f"{_AN}{{20,}}"),
    ("duffel-token", "duffel_(?:live|test)_", "[A-Za-z0-9_=-]{40,}"),
    ("adobe-secret", "\\bp8e-", f"{_AN}{{32}}"),
    ("paddle-key", "\\bpdl_(?:live|sdbx)_apikey_", "[A-Za-z0-9_]{30,}"),
    ("gocardless-token", f"\\blive_{_WORD}{{35}}", "[A-Za-z0-9_=-]*"),
    ("gocardless-token", "\\b(?:live|test)_[A-Za-z0-9]{30}", f"{_AN}*"),
    ("adyen-key", "\\bAQE[a-z]hm", "[A-Za-z0-9+/=.-]{40,}"),
)

_CHAT: tuple[Row, ...] = (
    ("slack-token", "xox[a-z](?:[.-]xox[bp]-)?-[0-9A-Za-z]", "[A-Za-z0-9-]{9,}"),
    ("slack-token", "xoxe[.]?.?xox[bp]-[0-9]-", "[A-Za-z0-9]{40,}"),
    ("slack-token", "xapp-[0-9]-", "[A-Za-z0-9]+-[0-9]+-[A-Za-z0-9]{8,}"),
    ("slack-webhook", "hooks.slack.com/(?:services|workflows|triggers)/", "[A-Za-z0-9+/_-]{20,}"),
    ("teams-webhook", "webhook[.]office[.]com/webhookb2/", "[A-Za-z0-9@/-]{60,}"),
    ("discord-token", f"\\b[MNO][A-Za-z0-9_-]{{23,27}}[.]{_WORD}{{6}}[.]{_WORD}{{27,40}}", ""),
    ("discord-webhook", "discord(?:app)?[.]com/api/webhooks/", f"[0-9]+/{_WORD}{{40,}}"),
    ("telegram-token", "(?:\\b|bot)[0-9]{5,16}:A[A-Za-z0-9_-]{34}", ""),
    ("twilio-key", "\\b(?:SK|AC)[0-9a-f]{32}\\b", ""),
    ("sendgrid-key", "\\bSG[.][A-Za-z0-9=_.-]{20}", "[A-Za-z0-9=_.-]{40,}"),
    ("brevo-key", "\\bx(?:keys|smtps)ib-", f"{HEX}{{64}}-{_AN}{{16}}"),
    ("mailgun-key", f"\\b(?:pub)?key-{HEX}{{32}}", ""),
    ("mailgun-key", "\\b[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}\\b", ""),
    ("mailchimp-key", "\\b[0-9a-f]{32}-us[0-9]{1,2}\\b", ""),
    ("mandrill-key", f"\\bmd-{_WORD}{{22}}\\b", ""),
    ("resend-key", f"\\bre_{_AN}{{8}}_{_AN}{{20,}}", ""),
    ("onesignal-key", "\\bos_v2_(?:app|org)_", "[a-z0-9]{40,}"),
    ("linear-token", "\\blin_(?:api|oauth)_", f"{_AN}{{32,}}"),
    ("notion-token", "\\bntn_", f"{_AN}{{40,}}"),
    ("notion-token", f"\\bsecret_{_AN}{{43}}", ""),
    ("figma-token", "\\bfig[douhr]{1,2}_", f"{_WORD}{{36,}}"),
    ("dropbox-token", f"\\bsl[.](?:u[.])?{_WORD}{{60}}", f"{_WORD}*"),
    ("typeform-token", "\\btfp_", "[A-Za-z0-9_.=-]{40,}"),
    ("contentful-token", "CFPAT-", f"{_WORD}{{40,}}"),
    ("instagram-token", "\\bIG(?:QV|QW|AA)[A-Za-z0-9_-]{40}", f"{_WORD}{{20,}}"),
    (
        "twitter-token",
        "\\bA{18}[A-Za-z0-9]{8,60}%(?:2[BbFf]|3[Dd])",
        "[A-Za-z0-9%]{30,}",
    ),
    ("zapier-webhook", "hooks[.]zapier[.]com/hooks/catch/", "[0-9]+/[A-Za-z0-9]{6,}"),
)

_OTHER: tuple[Row, ...] = (
    ("paseto", "\\bv[1-4][.](?:local|public)[.]", "[A-Za-z0-9_.-]{60,}"),
    ("posthog-key", "\\bphx_", f"{_AN}{{30,}}"),
    ("stytch-secret", "\\bsecret-(?:(?:live|test|prod)-)?[A-Za-z0-9_]{6}", "[A-Za-z0-9_=-]{30,}"),
    ("inngest-key", "\\bsignkey-[a-z]{2,8}-", f"{HEX}{{32,}}"),
    ("checkout-key", f"\\bsk_(?:[a-z]{{2,8}}_)?{UUID}", ""),
    ("svix-key", "\\b(?:test)?sk_[A-Za-z0-9]{30,40}[.](?:us|eu|in|ca|au)\\b", ""),
    ("browserbase-key", "\\bbb_(?:live|test)_", f"{_WORD}{{20,}}"),
    ("trigger-key", "\\btr_(?:prod|dev|stg|preview)_", f"{_AN}{{20,}}"),
    ("bitwarden-token", f"\\b0[.]{UUID}[.]{_AN}{{20,40}}:", f"{_B64}{{22}}=="),
    ("zhipu-key", "\\b[0-9a-f]{32}[.][A-Za-z0-9]{16}\\b", ""),
    ("shopify-token", f"\\bshp(?:at|ca|pa|ss|tka|ua|it)_{HEX}{{16}}", f"{HEX}{{16}}"),
    ("hubspot-token", "\\bpat-(?:na|eu|ap)[0-9]-", UUID),
    ("newrelic-key", "\\bNR(?:AK|JS|II|IQ|RA|SP|AA)-", f"{_WORD}{{19,}}"),
    ("newrelic-key", f"{HEX}{{8}}NRAL\\b", ""),
    ("grafana-token", "\\bgl(?:c|sa)_", "[A-Za-z0-9+/_]{32,}={0,3}"),
    # `{"k":"` in base64.
    ("grafana-token", "\\beyJrIjoi", f"{_AN}{{60,}}={{0,3}}"),
    ("dynatrace-token", "\\bdt0[a-z][0-9]{2}[.]", "[A-Z0-9]{24}[.][A-Z0-9]{64}"),
    ("settlemint-token", "\\bsm_[aps]at_", f"{_AN}{{16}}"),
    ("frameio-token", "\\bfio-u-", "[A-Za-z0-9_=-]{60,}"),
    ("defined-networking-key", "\\bdnkey-", "[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{40,}"),
    ("intra42-secret", "\\bs-s4t2(?:ud|af)-", f"{HEX}{{60,}}"),
    ("maxmind-key", f"{_AN}{{6}}_{_AN}{{29}}_mmk", ""),
    ("scalingo-token", "\\btk-us-", f"{_WORD}{{48}}"),
    ("beamer-key", "\\bb_[A-Za-z0-9_=-]{44}", ""),
    ("mapbox-token", "\\b[ps]k[.]eyJ1", f"{_WORD}{{20,}}[.]{_WORD}{{20,}}"),
    ("mapbox-token", f"\\b[ps]k[.]{_AN}{{60}}[.]", f"{_AN}{{22}}"),
    ("okta-token", "\\bSSWS ", f"{_WORD}{{30,}}"),
    # `eyJ` is `{"` in base64url: a header and a payload (RFC 7519).
    ("jwt", "\\beyJ[A-Za-z0-9_+/=-]{10,}[.]eyJ", "[A-Za-z0-9_+/=-]{8,}(?:[.][A-Za-z0-9_+/=-]*)?"),
    (
        "jwt",
        "\\beyJhbGci",
        "[A-Za-z0-9_+/=-]{8,}[.][A-Za-z0-9_+/=-]{6,}(?:[.][A-Za-z0-9_+/=-]*){1,3}",
    ),
)

_CRYPT = "[./A-Za-z0-9]"

_HASHES: tuple[Row, ...] = (
    (
        "password-hash",
        "[$](?:[1567y]|gy|apr1|sha1|md5)[$][A-Za-z0-9./,=]{1,24}[$]",
        "[A-Za-z0-9+./$=]{20,}",
    ),
    ("password-hash", "[$]2[abxy]?[$][0-9]{2}[$]", f"{_CRYPT}{{53}}"),
    (
        "password-hash",
        "[$](?:argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha[0-9]+)?|bcrypt-sha256)[$]",
        "[A-Za-z0-9+/=.$_-]{5}[A-Za-z0-9+/=,.$_-]{25,}",
    ),
    (
        "password-hash",
        "(?:pbkdf2[_:.](?:sha[0-9]+|hmac)|scrypt:[0-9]+|argon2[$])",
        "[A-Za-z0-9+/=:$._-]{30,}",
    ),
    ("password-hash", f"[$](?:[PH][$]{_CRYPT}{{31}}|S[$]{_CRYPT}{{52}})", ""),
    ("password-hash", "[$]8[$][A-Za-z0-9./]{14}|[$]9[$][A-Za-z0-9./]{14}", "[$][A-Za-z0-9./]{40,}"),
    ("password-hash", "[{](?:S?SHA(?:256|384|512)?|S?MD5|CRYPT)[}]", "[A-Za-z0-9+/=$.]{20,}"),
    ("password-hash", f":[0-9]+:{HEX}{{32}}:{HEX}{{32}}:", ""),
    ("password-hash", f"::[A-Za-z0-9.-]{{1,64}}:{HEX}{{16}}:{HEX}{{32}}:", f"{HEX}{{16,}}"),
    ("password-hash", "[$]krb5(?:tgs|asrep|pa)[$][0-9]{1,2}[$]", "[A-Za-z0-9_*$./@:-]{40,}"),
    (
        "password-hash",
        "SCRAM-SHA-(?:1|256|512)[$]",
        "[0-9]+:[A-Za-z0-9+/=]+[$][A-Za-z0-9+/=:]{20,}",
    ),
    ("password-hash", "'[*][0-9A-F]{40}'|'md5[0-9a-f]{32}'", ""),
    ("password-hash", f"(?i:nt(?:lm)? hash)[^\\r\\n:=]{{0,32}}[:=] ?{HEX}{{32}}", ""),
    ("password-hash", "password 7 [0-9A-F]{8}", "[0-9A-F]+"),
)

_WALLETS: tuple[Row, ...] = (
    ("wallet-key", "\\b[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,108}\\b", ""),
    # As the Wallet Import Format begins.
    ("wallet-key", "\\b(?:5[HJK]|K[w-z]|L[1-5])[1-9A-HJ-NP-Za-km-z]{49,50}\\b", ""),
    ("wallet-key", "\\bnsec1[02-9ac-hj-np-z]{58}\\b", ""),
)

FORMATS: tuple[Row, ...] = (
    *_CLOUD,
    *_DATA,
    *_AI,
    *_CODE,
    *_MONEY,
    *_CHAT,
    *_HASHES,
    *_WALLETS,
    *_OTHER,
)
