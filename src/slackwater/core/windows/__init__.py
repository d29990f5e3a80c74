"""Windows and panes: their arithmetic, the map-side bucket, the pane log and its roll-up."""
