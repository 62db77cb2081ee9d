// An editor of documents: CodeMirror with marks for losses, squiggles for problems, and the place
// that is pointed at.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Action, type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import {
  Annotation,
  EditorState,
  type Extension,
  type Range as Span,
  StateEffect,
  StateField,
  type Text,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface Mark {
  from: number;
  to: number;
  kind: string;
}

const style = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--key)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--atom)" },
  { tag: [tags.separator, tags.squareBracket, tags.brace], color: "var(--soft)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--accent)", padding: "8px 0 40px" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--faint)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 4px 0 10px", minWidth: "28px" },
  ".cm-foldGutter .cm-gutterElement": { padding: "0 2px", cursor: "pointer" },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--well)", border: "1px solid var(--line)", color: "var(--soft)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--selection)" },
  ".cm-selectionMatch": { backgroundColor: "var(--match)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "transparent", outline: "1px solid var(--line)",
  },
  ".cm-panels": { backgroundColor: "var(--well)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panels button, .cm-panels input": {
    backgroundImage: "none", backgroundColor: "var(--paper)", color: "var(--ink)",
    border: "1px solid var(--line)", borderRadius: "4px", fontFamily: "var(--sans)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)", border: "1px solid var(--line)", color: "var(--ink)",
    borderRadius: "6px", boxShadow: "var(--shadow)", maxWidth: "420px",
  },
  ".cm-diagnostic": { fontFamily: "var(--sans)", padding: "6px 10px" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--red)" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--accent)", color: "var(--on-accent)", borderRadius: "4px",
    padding: "2px 8px", font: "inherit", fontSize: "12px",
  },
  ".cm-gutter-lint": { width: "10px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "6px 1px 0" },
  ".cm-lint-marker": { width: "7px", height: "7px" },
  ".cm-lint-marker-error": {
    content: "none", display: "block", borderRadius: "50%", backgroundColor: "var(--red)",
  },
  ".cm-specialChar": { color: "var(--red)", fontWeight: "600" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--red) 1px", textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
  },
});

// A range line by line, without the space at the beginning of each.
function byLine(doc: Text, place: { from: number; to: number }, name: string): Span<Decoration>[] {
  const out: Span<Decoration>[] = [];
  const mark = Decoration.mark({ class: name });
  const last = Math.min(doc.lineAt(place.to).number, doc.lineAt(place.from).number + MOST_LINES);
  for (let number = doc.lineAt(place.from).number; number <= last; number++) {
    const line = doc.line(number);
    const from = Math.max(place.from, line.from + line.text.search(/\S|$/));
    const to = Math.min(place.to, line.to);
    if (from < to) out.push(mark.range(from, to));
  }
  return out;
}

const MOST_LINES = 3000;
const setMarks = StateEffect.define<Mark[]>();
const setActive = StateEffect.define<{ from: number; to: number } | null>();
const programmatic = Annotation.define<boolean>();

function marksField(): StateField<DecorationSet> {
  return StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(set, change) {
      set = set.map(change.changes);
      for (const effect of change.effects)
        if (effect.is(setMarks)) {
          const length = change.state.doc.length;
          set = Decoration.set(
            effect.value
              .filter((mark) => mark.to <= length && mark.from < mark.to)
              .flatMap((mark) => byLine(change.state.doc, mark, `mark-${mark.kind}`)),
            true,
          );
        }
      return set;
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}

function activeField(): StateField<DecorationSet> {
  return StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(set, change) {
      set = set.map(change.changes);
      for (const effect of change.effects)
        if (effect.is(setActive)) {
          const place = effect.value;
          const fits = place && place.from < place.to && place.to <= change.state.doc.length;
          set = fits
            ? Decoration.set(byLine(change.state.doc, place, "mark-active"))
            : Decoration.none;
        }
      return set;
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}

export interface Options {
  label: string;
  text: string;
  readOnly?: boolean;
  json?: boolean;
  onChange?: (text: string) => void;
  onPoint?: (at: number | null) => void; // the mouse is there
  onPick?: (at: number) => void; // clicked, or the cursor went there
  onMove?: () => void; // scrolled or resized
}

export class Editor {
  readonly view: EditorView;

  constructor(parent: HTMLElement, readonly options: Options) {
    const nonce = document.querySelector<HTMLMetaElement>("meta[name=csp-nonce]")?.content ?? "";
    const point = (at: number | null) => options.onPoint?.(at === null ? null : this.inside(at));
    const extensions: Extension[] = [
      EditorView.cspNonce.of(nonce),
      highlightSpecialChars(),
      drawSelection(),
      EditorView.lineWrapping,
      syntaxHighlighting(style),
      theme,
      search({ top: true }),
      highlightSelectionMatches(),
      marksField(),
      activeField(),
      lineNumbers(),
      keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({
        "aria-label": options.label,
        spellcheck: "false",
        autocapitalize: "off",
        tabindex: "0",
        ...(options.readOnly ? { "aria-readonly": "true" } : {}),
      }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !update.transactions.some((t) => t.annotation(programmatic)))
          options.onChange?.(update.state.doc.toString());
        const picked = update.transactions.some((t) => t.isUserEvent("select"));
        if (update.selectionSet && picked)
          options.onPick?.(this.inside(update.state.selection.main.head));
        if (update.geometryChanged || update.viewportChanged) options.onMove?.();
      }),
      EditorView.domEventHandlers({
        mousemove: (event, view) =>
          point(view.posAtCoords({ x: event.clientX, y: event.clientY }, false)),
        mouseleave: () => point(null),
      }),
    ];
    if (options.json !== false)
      extensions.push(json(), bracketMatching(), codeFolding(), foldGutter());
    if (options.readOnly) extensions.push(EditorState.readOnly.of(true));
    else extensions.push(history(), keymap.of([{ ...indentWithTab, preventDefault: true }]), lintGutter());
    this.view = new EditorView({
      parent,
      state: EditorState.create({ doc: options.text, extensions }),
    });
    this.view.scrollDOM.addEventListener("scroll", () => options.onMove?.(), { passive: true });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  // What is meant by a place beside the words of a line: the nearest of them.
  inside(at: number): number {
    const line = this.view.state.doc.lineAt(at);
    const first = line.from + Math.max(line.text.search(/\S/), 0);
    const last = line.from + line.text.replace(/[\s,]+$/, "").length;
    return Math.max(Math.min(at, last), Math.min(first, last));
  }

  set(text: string): void {
    if (text === this.text) return;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      annotations: programmatic.of(true),
      scrollIntoView: false,
    });
  }

  marks(marks: Mark[]): void {
    this.view.dispatch({ effects: setMarks.of(marks) });
  }

  active(place: { from: number; to: number } | null): void {
    this.view.dispatch({ effects: setActive.of(place) });
  }

  reveal(at: number): void {
    const to = Math.min(at, this.view.state.doc.length);
    this.view.dispatch({ effects: EditorView.scrollIntoView(to, { y: "center" }) });
  }

  diagnostics(
    found: { from: number; to: number; message: string; source: string; actions?: Action[] }[],
  ): void {
    const length = this.view.state.doc.length;
    const all: Diagnostic[] = found.map((each) => ({
      severity: "error",
      ...each,
      from: Math.min(each.from, length),
      to: Math.min(each.to, length),
    }));
    this.view.dispatch(setDiagnostics(this.view.state, all));
  }

  // The height of a place on the screen, if it can be seen.
  heightOf(at: number): number | null {
    const rect = this.view.scrollDOM.getBoundingClientRect();
    const to = Math.min(at, this.view.state.doc.length);
    const found = this.view.coordsAtPos(to);
    const block = found ? null : this.view.lineBlockAt(to);
    const y = found
      ? (found.top + found.bottom) / 2
      : this.view.documentTop + (block ? block.top + 9 : 0);
    return y >= rect.top && y <= rect.bottom ? y : null;
  }

  destroy(): void {
    this.view.destroy();
  }
}
