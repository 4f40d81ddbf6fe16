"""Reading: fetch sessions, what wakes a parked fetch, and the replies of followers."""
