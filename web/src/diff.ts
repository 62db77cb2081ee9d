// The lines that differ, with some around them. What is alike at both ends is cut off first.

export type Line = ["+" | "-" | " " | "@", string];

const AROUND = 3;
const MOST = 4_000_000;

export function diffLines(before: string, after: string): Line[] {
  const a = before.trimEnd().split("\n");
  const b = after.trimEnd().split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail++;
  const middle = between(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const all: Line[] = [
    ...a.slice(0, head).map((line): Line => [" ", line]),
    ...middle,
    ...a.slice(a.length - tail).map((line): Line => [" ", line]),
  ];
  return near(tail ? all : [...all]);
}

function between(a: string[], b: string[]): Line[] {
  if (a.length * b.length > MOST)
    return [...a.map((line): Line => ["-", line]), ...b.map((line): Line => ["+", line])];
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * width + j] =
        a[i] === b[j]
          ? best[(i + 1) * width + j + 1]! + 1
          : Math.max(best[(i + 1) * width + j]!, best[i * width + j + 1]!);
  const out: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push([" ", a[i]!]);
      i++;
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && best[(i + 1) * width + j]! >= best[i * width + j + 1]!)
    )
      out.push(["-", a[i++]!]);
    else out.push(["+", b[j++]!]);
  }
  return out;
}

function near(all: Line[]): Line[] {
  const keep = new Uint8Array(all.length);
  all.forEach(([sign], n) => {
    if (sign === " ") return;
    for (let k = Math.max(0, n - AROUND); k <= Math.min(all.length - 1, n + AROUND); k++) keep[k] = 1;
  });
  const out: Line[] = [];
  all.forEach((line, n) => {
    if (keep[n]) out.push(line);
    else if (out.length && out[out.length - 1]![0] !== "@") out.push(["@", ""]);
  });
  return out;
}
