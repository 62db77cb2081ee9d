// Convert: a document on the left, what it becomes on the right, the ledger between them.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type About, ask, type Converted, json, type Problem, type Result } from "./api";
import { diffLines } from "./diff";
import { many, Pair } from "./pair";
import { Replay } from "./replay";
import { copy, Menu, pickFile, Segments, useDrop, useNarrow } from "./parts";

interface Options {
  source: string;
  facet: string;
  model: string;
  failOn: string[];
  carry: boolean;
}

const DEFAULT: Options = { source: "", facet: "", model: "", failOn: [], carry: false };
const FIRST = ["openai-chat", "openai-responses", "gemini"];
const WAIT = 250;
const LONGEST = 16_000_000; // bytes of a file that is converted here
const LARGE = 300_000; // of a longer document only the target that is looked at is written

export function Convert({ about, shown }: { about: About; shown: boolean }) {
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [options, setOptions] = useState<Options>(DEFAULT);
  const [targets, setTargets] = useState<string[]>([]);
  const [chosen, setChosen] = useState("");
  const [own, setOwn] = useState(false);
  const [found, setFound] = useState<Converted>({});
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState("");
  const [preview, setPreview] = useState<Preview | null>(null);
  const [replaying, setReplaying] = useState(true);
  const [pane, setPane] = useNarrow<"left" | "ledger" | "right">("left");
  const asking = useRef<AbortController | null>(null);
  const target = targets.includes(chosen) ? chosen : (targets[0] ?? "");

  const load = useCallback((next: string, title: string) => {
    setText(next);
    setName(title);
    setFailed("");
    setPreview(null);
    setOptions((old) => ({ ...old, source: "", facet: "" }));
    setReplaying(true);
  }, []);

  const take = async (file: File) => {
    if (file.size > LONGEST)
      setFailed(`${file.name} is too large to convert here: use the command line`);
    else load(await file.text(), file.name);
  };

  useEffect(() => {
    if (about.given)
      ask("given").then(async (answer) => take(new File([await answer.blob()], about.given!)));
  }, []);

  useEffect(() => {
    if (!text.trim()) {
      asking.current?.abort();
      setFound({});
      setBusy(false);
      setFailed("");
      return;
    }
    const timer = setTimeout(() => {
      asking.current?.abort();
      const control = new AbortController();
      asking.current = control;
      setBusy(true);
      const body = {
        text,
        targets: text.length > LARGE ? targets.filter((each) => each === target) : targets,
        source: options.source || null,
        facet: options.facet || null,
        model: options.model || null,
        fail_on: options.failOn,
        carry: options.carry,
      };
      json<Converted>("convert", body, control.signal).then(
        (answer) => {
          setFound(answer);
          setFailed("");
          setBusy(false);
        },
        (problem: Error) => {
          if (control.signal.aborted) return;
          setFailed(problem.message);
          setBusy(false);
        },
      );
    }, WAIT);
    return () => clearTimeout(timer);
  }, [text, targets, options, text.length > LARGE ? target : ""]);

  const source = found.source;
  useEffect(() => {
    // Until somebody chooses targets, a document is written in those that most people ask for.
    if (!source || own || targets.some((each) => each !== source.dialect && each === chosen)) return;
    const can = FIRST.filter((each) => each !== source.dialect && found.targets?.includes(each));
    const first = can.length ? can : ["anthropic-messages"];
    const all = [...first, "anthropic-messages"].filter((each) => each !== source.dialect);
    const three = [...new Set(all)].slice(0, 3);
    setTargets(three);
    setChosen(three[0]!);
  }, [found]);

  const result = found.results?.find((each) => each.target === target);
  const stream = source?.facet === "stream";
  const empty = !text.trim();
  const drop = useDrop(take);

  const repair = (passes: string[] | null, title: string) => {
    if (!source) return;
    const body = { text, dialect: source.dialect, facet: source.facet, passes };
    json<Repaired>("repair", body).then(
      (answer) => setPreview({ title, ...answer }),
      (problem: Error) => setFailed(problem.message),
    );
  };
  const fixes = (problem: Problem) =>
    (problem.passes ?? []).map((pass) => ({ label: pass, run: () => repair([pass], pass) }));

  const facets = useMemo(() => {
    const dialect = options.source || source?.dialect;
    return Object.entries(about.dialects.find((each) => each.name === dialect)?.facets ?? {})
      .filter(([, ways]) => ways.includes("read"))
      .map(([facet]) => facet);
  }, [about, options.source, source?.dialect]);

  const leftHead = (
    <>
      <Menu
        label="Dialect of the source"
        value={options.source}
        onChange={(value) => setOptions({ ...options, source: value })}
        options={[
          ["", !options.source && source ? `${source.dialect} (detected)` : "detect the dialect"],
          ...about.dialects.map((each): [string, string] => [each.name, each.name]),
        ]}
      />
      <Menu
        label="Facet of the source"
        value={options.facet}
        onChange={(value) => setOptions({ ...options, facet: value })}
        options={[
          ["", !options.facet && source ? source.facet : "facet"],
          ...facets.map((each): [string, string] => [each, each]),
        ]}
      />
      {name && <span class="name" title={name}>{name}</span>}
    </>
  );

  const rightHead = (
    <>
      {targets.length > 0 && (
        <div class="tabs" role="tablist" aria-label="Targets">
          {targets.map((each) => {
            const of = found.results?.find((r) => r.target === each);
            return (
              <button
                type="button"
                role="tab"
                key={each}
                class={each === target ? "on" : ""}
                aria-selected={each === target}
                onClick={() => setChosen(each)}
              >
                {each}
                {of?.losses && <span class="count">{of.losses.length}</span>}
                {of?.error && <span class="count bad">!</span>}
              </button>
            );
          })}
        </div>
      )}
      {targets.length > 1 && (
        <button
          type="button"
          class="plain"
          aria-label={`close ${target}`}
          title={`close ${target}`}
          onClick={() => {
            setOwn(true);
            setTargets(targets.filter((t) => t !== target));
          }}
        >
          ×
        </button>
      )}
      <Menu
        label="Add a target"
        value=""
        onChange={(value) => {
          setOwn(true);
          setTargets(targets.includes(value) ? targets : [...targets, value]);
          setChosen(value);
        }}
        options={[
          ["", "Add"],
          ...(found.targets ?? about.dialects.map((each) => each.name)).map(
            (each): [string, string] => [each, each],
          ),
        ]}
      />
    </>
  );

  const message = failed ? (
    <p class="problem">{failed}</p>
  ) : found.error ? (
    <Trouble title="This document cannot be read" failure={found.error} />
  ) : result?.error ? (
    <Trouble title={`${result.target} cannot be written`} failure={result.error} />
  ) : undefined;

  return (
    <div class={`view convert ${drop.over ? "dropping" : ""}`} hidden={!shown} {...drop.props}>
      <div class="toolbar">
        <button
          type="button"
          onClick={() => pickFile(take)}
        >
          Open
        </button>
        <Menu
          label="Example"
          value=""
          onChange={(value) =>
            json<{ text: string }>(`example/${value}`).then((answer) => load(answer.text, ""))
          }
          options={[["", "Examples"], ...about.examples]}
        />
        <OptionsBar about={about} options={options} setOptions={setOptions} result={result} />
        <span class="grow" />
        {stream && (
          <Segments
            label="Stream"
            value={replaying ? "replay" : "documents"}
            options={[
              ["replay", "Replay"],
              ["documents", "Whole"],
            ]}
            onChange={(value) => setReplaying(value === "replay")}
          />
        )}
        <span class="status" role="status">
          {busy ? "converting" : ""}
        </span>
        <Copies result={result} />
        <div class="only-narrow" hidden={stream && replaying && !empty}>
          <Segments
            label="Pane"
            value={pane}
            options={[
              ["left", "Source"],
              ["ledger", `Ledger ${result?.losses?.length ?? ""}`],
              ["right", "Result"],
            ]}
            onChange={setPane}
          />
        </div>
      </div>
      {stream && replaying && target && !empty ? (
        <Replay
          text={text}
          source={source.dialect}
          target={target}
          head={rightHead}
          leftHead={leftHead}
          result={result}
        />
      ) : (
        <div class={`stack ${result?.home ? "with-home" : ""}`}>
          <Pair
            left={text}
            right={message || empty ? "" : (result?.text ?? "")}
            links={message ? NONE : (result?.links ?? NONE)}
            places={message ? NONE : (result?.places ?? NONE)}
            losses={message ? NONE : (result?.losses ?? NONE)}
            fails={result?.fails ?? NONE}
            problems={empty ? NONE : (found.problems ?? NONE)}
            rightProblems={message || empty ? NONE : (result?.problems ?? NONE)}
            leftJson={!stream}
            rightJson={!stream}
            leftLines={found.lines ?? false}
            rightLines={result?.lines ?? false}
            leftHead={leftHead}
            rightHead={rightHead}
            idle={empty}
            leftFoot={
              empty ? (
                <Start about={about} load={load} />
              ) : (
                <Problems problems={found.problems ?? []} repair={repair} />
              )
            }
            rightFoot={
              result?.problems?.length ? (
                <p class="foot bad">
                  {many(result.problems.length, "problem")} that {result.target} would reject
                </p>
              ) : undefined
            }
            message={message}
            onLeft={setText}
            fixes={fixes}
            narrow={pane}
          />
          {result?.home && <Home result={result} original={source?.dialect ?? ""} />}
        </div>
      )}
      {preview && (
        <PreviewBox
          before={text}
          preview={preview}
          close={() => setPreview(null)}
          apply={() => {
            setText(preview.text);
            setPreview(null);
          }}
        />
      )}
    </div>
  );
}

const NONE: [] = [];

// -- options ------------------------------------------------------------------------------------

function OptionsBar(props: {
  about: About;
  options: Options;
  setOptions: (next: Options) => void;
  result: Result | undefined;
}) {
  const { about, options, setOptions, result } = props;
  const [adding, setAdding] = useState("");
  const codes = [...about.kinds, ...Object.keys(about.codes)];
  const add = (code: string) => {
    if (codes.includes(code) && !options.failOn.includes(code))
      setOptions({ ...options, failOn: [...options.failOn, code] });
    setAdding("");
  };
  return (
    <>
      <label class="field">
        <span>model</span>
        <input
          value={options.model}
          placeholder="as in the source"
          spellcheck={false}
          onInput={(event) => setOptions({ ...options, model: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>fail on</span>
        <input
          value={adding}
          list="codes"
          placeholder="code"
          spellcheck={false}
          onInput={(event) => {
            const value = event.currentTarget.value;
            if (codes.includes(value)) add(value);
            else setAdding(value);
          }}
          onKeyDown={(event) => event.key === "Enter" && add(adding.trim())}
        />
        <datalist id="codes">
          {codes.map((code) => (
            <option value={code} />
          ))}
        </datalist>
      </label>
      {options.failOn.map((code) => (
        <button
          type="button"
          class="chip"
          title="remove"
          onClick={() =>
            setOptions({ ...options, failOn: options.failOn.filter((each) => each !== code) })
          }
        >
          {code} ×
        </button>
      ))}
      {result?.fails && result.fails.length > 0 && (
        <span class="failing">refused: {many(result.fails.length, "loss", "losses")}</span>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={options.carry}
          onChange={(event) => setOptions({ ...options, carry: event.currentTarget.checked })}
        />
        <span>carry, and the way home</span>
      </label>
    </>
  );
}

function Copies({ result }: { result: Result | undefined }) {
  if (!result) return null;
  return (
    <div class="copies">
      <span class="quiet">copy as</span>
      <button type="button" onClick={() => copy(result.command, "command line")} title={result.command}>
        Command
      </button>
      <button type="button" onClick={() => copy(result.python, "Python")} title={result.python}>
        Python
      </button>
      <button
        type="button"
        disabled={!result.text}
        onClick={() => result.text && copy(result.text, "result")}
      >
        Result
      </button>
    </div>
  );
}

function Start({ about, load }: { about: About; load: (text: string, name: string) => void }) {
  return (
    <div class="start">
      <h2>Paste a document, or drop a file</h2>
      <p>
        A request, a response, a session, a stream: the dialect is detected. Documents stay on this
        machine.
      </p>
      <ul>
        {about.examples.map(([name, title]) => (
          <li key={name}>
            <button
              type="button"
              onClick={() =>
                json<{ text: string }>(`example/${name}`).then((answer) => load(answer.text, ""))
              }
            >
              {title}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Trouble({ title, failure }: { title: string; failure: { message: string; at?: string | null } }) {
  return (
    <div class="trouble">
      <h2>{title}</h2>
      <p>{failure.message}</p>
      {failure.at && <code>{failure.at}</code>}
    </div>
  );
}

// -- the way home -------------------------------------------------------------------------------

function Home({ result, original }: { result: Result; original: string }) {
  const home = result.home!;
  return (
    <section class="home" aria-label="The way home">
      <header class="bar">
        <h2>Way home: {original}</h2>
        {home.exact !== undefined && (
          <span class={home.exact ? "good" : "bad"}>
            {home.exact ? "the same document" : "not the same document"}
          </span>
        )}
        <span class="quiet">
          {home.capsule !== undefined && `capsule of ${home.capsule.toLocaleString("en")} bytes, `}
          {many(home.restored?.length ?? 0, "place")} restored
        </span>
      </header>
      {home.error ? (
        <Trouble title="It does not come back" failure={home.error} />
      ) : (
        <div class="home-body">
          <ul class="restored">
            {home.restored?.map((each) => (
              <li>
                <b>{each.what}</b> <code>{each.path || "/"}</code>
                {each.removed ? " removed" : ""}
              </li>
            ))}
          </ul>
          <pre tabindex={0} aria-label="The document that came back">
            {(home.text ?? "").slice(0, 200_000)}
          </pre>
        </div>
      )}
    </section>
  );
}

// -- problems and repairs -----------------------------------------------------------------------

interface Repaired {
  text: string;
  changed: boolean;
  losses: { kind: string; what: string; path: string; why: string }[];
  left: Problem[];
}
type Preview = Repaired & { title: string };

function Problems(props: {
  problems: Problem[];
  repair: (passes: string[] | null, title: string) => void;
}) {
  const { problems, repair } = props;
  if (!problems.length) return null;
  const passes = [...new Set(problems.flatMap((each) => each.passes ?? []))];
  const rules = [...new Set(problems.map((each) => each.rule))];
  return (
    <div class="foot problems">
      <span class="bad" title={problems.map((each) => `${each.rule}: ${each.message}`).join("\n")}>
        {many(problems.length, "problem")}: {rules.slice(0, 4).join(", ")}
        {rules.length > 4 ? ", ..." : ""}
      </span>
      {passes.length > 0 && (
        <>
          <button type="button" class="primary" onClick={() => repair(null, "All that repairs it")}>
            Repair all
          </button>
          {passes.map((pass) => (
            <button type="button" key={pass} onClick={() => repair([pass], pass)}>
              {pass}
            </button>
          ))}
        </>
      )}
    </div>
  );
}

function PreviewBox(props: {
  before: string;
  preview: Preview;
  close: () => void;
  apply: () => void;
}) {
  const { preview } = props;
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  const lines = useMemo(() => diffLines(props.before, preview.text), [props.before, preview.text]);
  return (
    <dialog ref={box} class="preview" onClose={props.close} aria-label="Preview of a repair">
      <header class="bar">
        <h2>{preview.title}</h2>
        <span class="quiet">
          {preview.changed ? many(preview.losses.length, "change") : "changes nothing"}
          {preview.changed && `, ${many(preview.left.length, "problem")} left`}
        </span>
        <span class="grow" />
        <button type="button" onClick={props.close}>
          Cancel
        </button>
        <button type="button" class="primary" disabled={!preview.changed} onClick={props.apply}>
          Apply
        </button>
      </header>
      <ul class="changes" tabindex={0} aria-label="Changes">
        {preview.losses.map((loss) => (
          <li>
            <i class={`dot ${loss.kind}`} aria-hidden="true" />
            {loss.kind} <b>{loss.what}</b> <code>{loss.path || "/"}</code> <span>{loss.why}</span>
          </li>
        ))}
      </ul>
      <pre class="diff" tabindex={0} aria-label="Changed lines">
        {lines.map(([sign, line]) => (
          <span class={sign === "+" ? "add" : sign === "-" ? "cut" : sign === "@" ? "gap" : ""}>
            {sign === "@" ? "⋯" : `${sign} ${line}`}
            {"\n"}
          </span>
        ))}
      </pre>
    </dialog>
  );
}
