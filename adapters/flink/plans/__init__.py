"""Where plans lie: the folder that edgeplace and the agent share."""
