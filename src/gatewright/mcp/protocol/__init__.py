"""Protocol state machines without input and output: messages in, decisions and messages out."""
