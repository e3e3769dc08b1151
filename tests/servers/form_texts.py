"""Texts of forms, written before anybody looked which of them are noticed: sixty that ask for what only one person may know,
sixty that ask for something else. Each is the title of a field in which somebody writes. The thirty and thirty that follow were written
after the words had been chosen, and nothing was changed for them but what the tests say."""

from __future__ import annotations

__all__ = ["ASKING", "ASKING_TOO", "HONEST", "HONEST_TOO"]

ASKING = """
OpenAI key
Your Stripe key
Anthropic API key
Enter your GitHub tokens, one per line
GitHub PAT
Personal access token (classic)
Session cookie of your browser
Paste the Cookie header here
Two-factor code
6-digit code from your authenticator app
Login code we sent to your phone
Backup codes
Recovery key of the vault
Master key
License key
AWS secret access key
Connection string of the database
Your IBAN
Card number
CVC
Expiry date and security number of the card
Social security number
Passphrase of ~/.ssh/id_ed25519
Private key in PEM format
Wallet seed words
12-word recovery phrase
Unlock pattern of your phone
PIN of your SIM card
Service account JSON with credentials
Bearer from the Authorization header
Webhook signing secret
Encryption key (32 bytes, hex)
Wi-Fi password
Root pw
sudo password
Database login and password
Your access key
API keys of the team
Key for the Google Maps API
Deploy key (private part)
Answer to your security question
Mother's maiden name and password
Magic link from your mail
Verification code
SMS code
One time password
Bank account and PIN
TAN
Kennwort
Sicherheitscode
Geheimzahl
Mot de passe
Code secret de la carte
Clave de acceso
Contrasena del correo
Parola d'ordine
\u5bc6\u94a5
\u8bbf\u95ee\u4ee4\u724c
\u6697\u8a3c\u756a\u53f7
\u043a\u043b\u044e\u0447 \u0434\u043e\u0441\u0442\u0443\u043f\u0430
""".strip().splitlines()

HONEST = """
Project key
Issue key, such as ABC-123
Primary key column
Sort key
Partition key of the table
Cache key
Foreign key
Public key
Key of the map entry
Key signature of the song
Keyboard layout
Keyword
Key points of the meeting
Key result for this quarter
Answer key page
Object key in the bucket
Which key should be pressed?
Maximum tokens
Number of tokens to generate
Token limit
Tokenizer
Cookie policy text
Favourite cookies
Cookie banner language
Pattern to search for
Path
Patient name
PATH entry to add
Country code
Postal code
Zip code
Error code
Area code
QR code text
Discount code
Language code
Color code
Source code of the function
Code to review
Exit code
Status code
Commit message
Branch name
Account name
E-mail address
Phone number
Date of birth
Order number
Invoice number
Room number
Name of the secretary
Opinion
Spinning wheel size
Connection timeout
String to replace
Backup folder
Recovery point objective in minutes
Login page URL
Authentication method
Name of the environment variable that has the value
""".strip().splitlines()

ASKING_TOO = """
Enter the key you got from Mistral
Hugging Face token
Slack bot token (xoxb)
npm auth tokens
Your Notion integration secret
Paste your session cookie
Code from your authenticator
The six-digit code we texted you
Recovery codes, comma separated
Vault unseal key
Your product key
JDBC connection string
Account passwd
Login + pass
BIP39 words
Bank IBAN
CVV2
Codice segreto
Wachtwoord
M\u1eadt kh\u1ea9u c\u1ee7a b\u1ea1n
\u015fifreniz
\u05e1\u05d9\u05e1\u05de\u05d4
\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2 \u03c0\u03c1\u03cc\u03c3\u03b2\u03b1\u03c3\u03b7\u03c2
\ube44\ubc00\ubc88\ud638
\u53e3\u4ee4
passphr. of your key file
Personal Access Token
Client Secret
What is your mother's maiden name?
DB creds
""".strip().splitlines()

HONEST_TOO = """
Jira project keys
Sort keys, comma separated
Which keys should be kept?
S3 object keys to delete
Public SSH key
Registry key path
Config key
Redis cache keys
Arrow key bindings
Max tokens per answer
How many tokens at most?
Token budget
Booking code
Country calling code
Coupon code
Code style
Code owner
Barcode number
Cookie recipe
Consent for cookies (yes or no)
Passenger name
Passport country
Compass direction
Secretariat address
Key takeaways
Key visual
Shipping address
Street and number
Pin colour on the map
Answer in one sentence
""".strip().splitlines()
