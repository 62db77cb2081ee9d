// The page: three views, a theme, and the door.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type About, hasToken, json, Refused, setToken } from "./api";
import { Conversation } from "./conversation";
import { Convert } from "./convert";
import { Traffic } from "./traffic";

const VIEWS = ["convert", "conversation", "traffic"] as const;
type View = (typeof VIEWS)[number];
const TITLES: Record<View, string> = {
  convert: "Convert",
  conversation: "Conversation",
  traffic: "Traffic",
};
const THEME = "dragoman-theme";

function viewOf(hash: string): View {
  const found = hash.replace(/^#\//, "") as View;
  return VIEWS.includes(found) ? found : "convert";
}

function App() {
  const [about, setAbout] = useState<About | null>(null);
  const [refused, setRefused] = useState<string | null>(hasToken() ? null : "");
  const [view, setView] = useState<View>(viewOf(location.hash));
  const [seen, setSeen] = useState<Set<View>>(new Set([viewOf(location.hash)]));

  const enter = () =>
    json<About>("about").then(
      (answer) => {
        setAbout(answer);
        setRefused(null);
      },
      (problem: Error) =>
        setRefused(
          problem instanceof Refused ? problem.message : "the workbench does not answer any more",
        ),
    );
  useEffect(() => {
    if (refused === null) enter();
  }, []);
  useEffect(() => {
    const change = () => setView(viewOf(location.hash));
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  useEffect(() => {
    setSeen((old) => new Set([...old, view]));
    document.title = `${TITLES[view]} · dragoman workbench`;
  }, [view]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const number = Number(event.key);
      if (event.altKey && number >= 1 && number <= VIEWS.length) {
        event.preventDefault();
        location.hash = `#/${VIEWS[number - 1]}`;
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);

  return (
    <>
      <header class="top">
        <h1>
          <img src="icon.svg" alt="" width="18" height="18" /> dragoman
        </h1>
        <nav aria-label="Views">
          {VIEWS.map((each, n) => (
            <a
              key={each}
              href={`#/${each}`}
              aria-current={each === view ? "page" : undefined}
              title={`Alt+${n + 1}`}
            >
              {TITLES[each]}
            </a>
          ))}
        </nav>
        <span class="grow" />
        <Theme />
      </header>
      <main>
        {about ? (
          <>
            {seen.has("convert") && <Convert about={about} shown={view === "convert"} />}
            {seen.has("conversation") && (
              <Conversation about={about} shown={view === "conversation"} />
            )}
            {seen.has("traffic") && <Traffic about={about} shown={view === "traffic"} />}
          </>
        ) : (
          refused !== null && <Door why={refused} enter={enter} />
        )}
      </main>
      <div id="toast" role="status" aria-live="polite" />
    </>
  );
}

function Door({ why, enter }: { why: string; enter: () => void }) {
  const [key, setKey] = useState("");
  return (
    <form
      class="door"
      onSubmit={(event) => {
        event.preventDefault();
        setToken(key.trim());
        enter();
      }}
    >
      <h2>The key, please</h2>
      <p>
        Open the address that was printed when the workbench started, or enter the key of an
        operator.
      </p>
      <label>
        <span>Key</span>
        <input
          type="password"
          autocomplete="off"
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Enter
      </button>
      {why && (
        <p class="bad" role="alert">
          {why}
        </p>
      )}
    </form>
  );
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem(THEME) ?? "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem(THEME, theme);
  }, [theme]);
  const next: Record<string, string> = { auto: "dark", dark: "light", light: "auto" };
  return (
    <button
      type="button"
      class="plain"
      onClick={() => setTheme(next[theme] ?? "auto")}
      aria-label={`Theme: ${theme}`}
    >
      {theme === "auto" ? "◐ Auto" : theme === "dark" ? "● Dark" : "○ Light"}
    </button>
  );
}

render(<App />, document.getElementById("page")!);
