"""The real TensorBoard over the directories of runs, with the plug-in of its tab Profile; what its pages show, through frames and
shadow roots."""
import gzip
import re
import subprocess
import tempfile
import urllib.parse
import urllib.request

from stoker import environment, until

# The newest on PyPI when this was written. The plug-in is the package xprof by its old name, and brings it.
PACKAGES = ("tensorboard==2.21.0", "tensorboard-plugin-profile==2.24.2")

# The innermost element of the page with just that text, and whether there is one.
DEEP = r"""
  function* deepElements(root) {  // frames and shadow roots may have a querySelectorAll() of their own
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    for (let element = walker.nextNode(); element !== null; element = walker.nextNode()) {
      yield element;
      if (element.shadowRoot) yield* deepElements(element.shadowRoot);
      if (element.tagName === "IFRAME" && element.contentDocument?.body) yield* deepElements(element.contentDocument);
    }
  }
  window.deepFind = (text) => [...deepElements(document)].filter((element) => element.textContent.trim() === text).at(-1);
  window.deepShows = (text) => deepFind(text) !== undefined;
"""


class TensorBoard:
    """A server. Use as a context."""

    def __init__(self, logs):
        program = str(environment(*PACKAGES).parent / "tensorboard")
        self.log = tempfile.TemporaryFile("w+")
        # Its own port; the loader in Rust is another package's.
        self.process = subprocess.Popen([program, "--logdir", logs, "--port", "0", "--host", "127.0.0.1", "--load_fast", "false"],
                                        stdout=self.log, stderr=subprocess.STDOUT)
        self.url = until(lambda: re.search(r"http://127.0.0.1:\d+/", self.said()), self.said, alive=lambda: self.process.poll() is None)[0]

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=60) as reply:
            data = reply.read()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()

    def page(self, tab, **query):
        return f"{self.url}?{urllib.parse.urlencode(query)}#{tab}"
