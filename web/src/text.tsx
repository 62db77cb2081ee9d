// Text from strangers: what would act on a reader or hide from them is made visible.

import type { ComponentChildren } from "preact";

const ODD =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function visible(text: string): ComponentChildren {
  if (!ODD.test(text)) return text;
  ODD.lastIndex = 0;
  const out: ComponentChildren[] = [];
  let last = 0;
  for (const found of text.matchAll(ODD)) {
    out.push(text.slice(last, found.index));
    const code = found[0].codePointAt(0)!;
    const name = code === 0x1b ? "ESC" : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    out.push(<span class="odd">{name}</span>);
    last = found.index + found[0].length;
  }
  out.push(text.slice(last));
  return out;
}
