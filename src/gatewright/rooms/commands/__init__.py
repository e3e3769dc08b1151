"""Commands about rooms: `gatewright room`."""
