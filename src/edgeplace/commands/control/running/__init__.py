"""What a loop that runs has of clocks, files, processes and the network."""
