// Where everything stands in the text of a JSON document: JSON pointers to ranges, and back. Text
// that is not quite JSON is mapped as far as it can be read. Several values, one on a line, are the
// list of them, as they are in sessions.

export interface Range {
  from: number; // with its key, where it has one
  value: number; // where the value begins
  to: number;
}

const SPACE = /[ \t\r\n]*/y;
const PLAIN = /[^,\]}\s]+/y;
const STRING = /"(?:[^"\\]|\\.)*"?/y;
const DEEPEST = 500;

export function mapJson(text: string, asLines = false): Map<string, Range> {
  const out = new Map<string, Range>();
  const first = skip(text, 0);
  const end = value(text, first, first, "", out, 0);
  if (skip(text, end) >= text.length && !(asLines && text[first] === "{")) return out;
  out.clear();
  let from = 0;
  for (let number = 0; from < text.length; number++) {
    let to = text.indexOf("\n", from);
    if (to < 0) to = text.length;
    const line = text.slice(0, to);
    const at = skip(line, from);
    if (at < to) value(line, at, at, `/${number}`, out, 0);
    from = to + 1;
  }
  return out;
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
function skip(text: string, at: number): number {
  return match(SPACE, text, at);
}

function value(
  text: string,
  from: number,
  at: number,
  pointer: string,
  out: Map<string, Range>,
  depth: number,
): number {
  const sign = text[at];
  let to: number;
  if (sign === "{" && depth < DEEPEST) to = members(text, at, pointer, out, depth);
  else if (sign === "[" && depth < DEEPEST) to = items(text, at, pointer, out, depth);
  else if (sign === '"') to = match(STRING, text, at);
  else to = match(PLAIN, text, at);
  out.set(pointer, { from, value: at, to });
  return to;
}

function members(
  text: string,
  at: number,
  pointer: string,
  out: Map<string, Range>,
  depth: number,
): number {
  at = skip(text, at + 1);
  while (at < text.length && text[at] !== "}") {
    const from = at;
    if (text[at] !== '"') return at;
    at = match(STRING, text, at);
    const key = keyOf(text.slice(from, at));
    at = skip(text, at);
    if (text[at] !== ":") return at;
    at = skip(text, at + 1);
    const next = value(text, from, at, `${pointer}/${escape(key)}`, out, depth + 1);
    if (next === at) return at;
    at = skip(text, next);
    if (text[at] === ",") at = skip(text, at + 1);
    else if (text[at] !== "}") return at;
  }
  return Math.min(at + 1, text.length);
}

function items(
  text: string,
  at: number,
  pointer: string,
  out: Map<string, Range>,
  depth: number,
): number {
  at = skip(text, at + 1);
  for (let number = 0; at < text.length && text[at] !== "]"; number++) {
    const next = value(text, at, at, `${pointer}/${number}`, out, depth + 1);
    if (next === at) return at;
    at = skip(text, next);
    if (text[at] === ",") at = skip(text, at + 1);
    else if (text[at] !== "]") return at;
  }
  return Math.min(at + 1, text.length);
}

function keyOf(written: string): string {
  try {
    return JSON.parse(written);
  } catch {
    return written.slice(1, -1);
  }
}
function escape(key: string): string {
  return key.replace(/~/g, "~0").replace(/\//g, "~1");
}

// The range of a pointer, or of the nearest place above it that there is.
export function find(map: Map<string, Range>, pointer: string): Range | undefined {
  for (;;) {
    const found = map.get(pointer);
    if (found || pointer === "") return found;
    pointer = pointer.slice(0, pointer.lastIndexOf("/"));
  }
}
