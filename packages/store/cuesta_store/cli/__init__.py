"""Command line of the store: `cuesta-store`, and `cuesta store` where that package is installed."""
