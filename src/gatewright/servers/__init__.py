"""Where a call goes once it is allowed: connections to tool servers, what they offer, and who owns what."""
