"""Tables for secret scanning: vendors whose keys have no fixed form; tools (git, npm, …) beside whose names a hash is not a key."""

from __future__ import annotations

__all__ = ["NUMBERED", "VENDORS", "VERSION_CONTROL"]

VENDORS = tuple(
    """
    braze crowdin expensify fastmail fireworks hasura kinde readthedocs recurly userlike vimeo
    adafruit adobe adyen affirm ahrefs aiven airbrake airtable akamai algolia alibaba aliyun alchemy
    amazon amplitude anthropic apify appcenter appdynamics appveyor artifactory asana assemblyai
    atlassian auth0 authy aws azure backblaze baseten beamer benchling bintray bitbucket bitfinex
    bitly bitmex bitrise bittrex binance braintree brevo browserstack bugsnag buildkite bybit
    calendly campaignmonitor cerebras chargebee checkly checkout chargify circleci clearbit
    clickhouse clickup clojars cloudant cloudconvert cloudflare cloudinary cloudsmith codacy codeclimate
    codecov codemagic cohere coinbase coinmarketcap confluence confluent contentful contentstack
    settlemint rapyd polymarket authress freemius onepassword openshift cisco flyio contribsys convertkit copper coveralls customerio cypress databento databricks datadog datarobot
    deepgram deepl deepseek dhl digicert digitalocean discogs discord discourse disqus dnsimple dnkey
    docusign doppler droneci dropbox duffel dwolla dynatrace easypost ebay
    elevenlabs endorlabs equinix etherscan etsy eventbrite everhour exchangerate facebook fastly
    fauna fedex figma finicity finnhub firebase flickr flutterwave foursquare frameio freshbooks freshdesk
    freshworks fullstory gemini geocodio getresponse giphy github gitbook gitea gitlab gitter
    gocardless godaddy gorgias grafana gravatar greenhouse groq gumroad harness harvest
    hashicorp helpscout heroku hetzner honeybadger honeycomb hotjar hubspot huggingface hypixel
    ibm imgur infracost infura instagram intercom intra42 ipdata ipinfo ipstack jenkins jfrog jira
    jotform jumpcloud kickbox klaviyo kraken kucoin langfuse launchdarkly lastfm lemonsqueezy
    linear linkedin linode litellm lob localytics logdna loggly logz looker magento mailchimp mailerlite
    mailgun mailjet mailtrap mandrill mapbox mapquest marketo mattermost maxmind meilisearch meraki
    messagebird microsoft mistral mixpanel mongodb moralis mux
    netlify newrelic new-relic new_relic newsapi nexmo ngrok notion npm nuget nvidia nylas nytimes
    new-york-times newyorktimes octopus okta onelogin onesignal openai openrouter openweather openweathermap
    opsgenie optimizely pagerduty paddle papertrail pastebin paypal paystack pendo
    perplexity pexels pinecone pingdom pinterest pipedrive plaid planetscale plivo
    posthog postman postmark prefect pubnub pulumi pusher pushover pypi qdrant quandl
    quicknode quickbooks rabbitmq rackspace rancher rapidapi raygun razorpay readme recaptcha
    reddit redshift replicate replit resend ringcentral rollbar rubygems runpod
    salesforce saucelabs scalingo scaleway scrapingbee sendbird sendgrid
    sendinblue sentry serpapi servicenow shippo shodan shopify sidekiq signalfx signalwire slack
    smartsheet snowflake snyk sonar sonarqube sonarcloud sourcegraph sparkpost splunk splitio
    spotify square squarespace squareup statuspage strapi strava stripe stytch sumo sumologic
    supabase surveymonkey tatum tavily teamcity telegr telegram telnyx tencent terraform
    thinkific tiktok tinypng todoist trello travis travisci trustpilot twilio twitch twitter typeform
    typesense uber unsplash upcloud uploadcare upstash vault vercel veracode virustotal vonage voyage vultr
    wakatime wandb weatherapi weaviate webex webflow whatsapp wix woocommerce wordpress workos wufoo
    xero yahoo yandex yelp youtube zapier zendesk zerotier zoho privateai travis-ci
    """.split()
)
"""In lower case. A longer name needs no row where its beginning is one."""

NUMBERED = ("asana", "discord")
"""Their client ids are numbers of 15 to 20 digits."""

VERSION_CONTROL = ("git", "npm", "pypi", "rubygems", "nuget", "terraform")
"""Beside these names hashes are no keys: a commit, an image, a package."""
