"""Commands of rooms: `gatewright room`, its chat input and its output in a terminal."""
