"""Stronger embedders for tool search: vectors of texts from an OpenAI-compatible endpoint, or from a local model in a worker process.

Begin with `embedder.py`; `embedding.py` above this folder keeps an index in step with one.
"""

__all__: list[str] = []
