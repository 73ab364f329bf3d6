"""The project file of a folder, `edgeplace.yaml`."""
