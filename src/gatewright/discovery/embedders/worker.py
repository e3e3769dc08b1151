"""Worker process of `LocalModel`: reads the model's folder once, offline; answers each job's texts from stdin with their vectors, or an error.

The head of an order is the folder of the model, its load a JSON list of texts; the answer's head says `digest`, `rows` and `columns`, or
`error`, and its load has the numbers. The model is read at the first order and kept.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from gatewright.discovery.embedders.model_files import BadModel, Model, opened
from gatewright.transport.worker_main import answer_orders

__all__ = ["MODULE", "answered", "main"]

MODULE = "gatewright.discovery.embedders.worker"


def main() -> int:
    """Answer until the other side hangs up."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    return answer_orders(answered)


def answered(head: bytes, load: bytes) -> tuple[dict[str, Any], bytes]:
    """The answer to one order."""
    try:
        model, digest = _model(head.decode())
        texts = msgspec.json.decode(load, type=list[str])
        if not texts:
            return {"digest": digest, "rows": 0, "columns": 0}, b""
        rows = model.embed(texts)
    except ImportError as problem:
        return {"error": f"{problem}; pip install 'gatewright[embeddings]'"}, b""
    except (BadModel, OSError) as problem:
        return {"error": str(problem)}, b""
    except Exception as problem:  # noqa: BLE001 - whoever ordered it goes on without
        return {"error": f"{type(problem).__name__}: {problem}"[:300]}, b""
    return {"digest": digest, "rows": len(rows), "columns": rows.shape[1]}, rows.tobytes()


@lru_cache(maxsize=1)
def _model(folder: str) -> tuple[Model, str]:
    return opened(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
