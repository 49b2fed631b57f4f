"""Chromium for tests of pages, and scripts that find faults in one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CONTRAST_MIN = 4.5
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

# Texts of a chart that overlap, or extend beyond the column or the drawing.
MISPLACED_TEXT = """() => {
  const faults = [];
  for (const chart of document.querySelectorAll('svg.chart')) {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll('text')].map(
      (text) => ({words: text.textContent, box: text.getBoundingClientRect()}));
    for (const {words, box} of texts) {
      if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5) faults.push(words);
      if (box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5) faults.push(words);
    }
    texts.forEach((one, index) => texts.slice(index + 1).forEach((other) => {
      const width = Math.min(one.box.right, other.box.right)
        - Math.max(one.box.left, other.box.left);
      const height = Math.min(one.box.bottom, other.box.bottom)
        - Math.max(one.box.top, other.box.top);
      if (width > 0.5 && height > 2) faults.push(`${one.words} on ${other.words}`);
    }));
  }
  return faults;
}"""

# All visible texts with less contrast than `least`, as [words, colour, ratio]: to `ground` or, if
# that is null, to their background. A colour that is not opaque shows what is behind it.
FAINT_TEXT = """([least, ground]) => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const painted = (...colours) => {
    const key = colours.join(' on ');
    if (!known.has(key)) {
      canvas.clearRect(0, 0, 1, 1);
      for (const colour of colours) {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
      }
      known.set(key, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(key);
  };
  const luminance = (...colours) => {
    const [r, g, b] = painted(...colours).slice(0, 3).map((value) => value / 255).map(
      (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let node = element; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (painted(colour)[3] === 255) return colour;
    }
    return 'white';
  };
  const faults = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const words = walker.currentNode.textContent.trim();
    if (!words || element.closest('title, desc, style')) continue;
    const style = getComputedStyle(element);
    const front = element.closest('svg') ? style.fill : style.color;
    const back = ground ?? behind(element);
    const [light, dark] = [luminance(back, front), luminance(back)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < least) faults.push([words, front, ratio]);
  }
  return faults;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium of its own for a module; skips without playwright."""
    reason = "playwright is not installed"
    sync_api = pytest.importorskip("playwright.sync_api", reason=reason)
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()
