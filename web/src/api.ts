// What the page asks of its server. The token comes in the fragment of the address, which browsers
// send nowhere; it is kept for this tab and removed from the address.

export interface Loss {
  kind: string;
  what: string;
  path: string;
  why: string;
  target: string;
}
export interface Link {
  kind: string;
  label: string;
  a: string | null;
  b: string | null;
  changed: boolean;
}
export interface Place {
  a: string;
  b: string | null;
  gone: boolean;
}
export interface Problem {
  rule: string;
  path: string;
  message: string;
  passes?: string[];
}
export interface Failure {
  message: string;
  at?: string | null;
}
export interface Home {
  text?: string;
  exact?: boolean;
  restored?: { what: string; path: string; removed: boolean }[];
  losses?: Loss[];
  capsule?: number;
  error?: Failure;
}
export interface Result {
  target: string;
  text?: string;
  losses?: Loss[];
  fails?: number[];
  links?: Link[];
  places?: Place[];
  problems?: Problem[];
  rest?: string;
  lines?: boolean;
  home?: Home;
  command: string;
  python: string;
  error?: Failure;
}
export interface Converted {
  source?: { dialect: string; facet: string; evidence: string[]; confidence: number };
  problems?: Problem[];
  targets?: string[];
  lines?: boolean;
  results?: Result[];
  error?: Failure;
}
export interface TrafficState {
  contents: boolean;
  paused: boolean;
  upstreams: string[];
}
export interface About {
  dialects: { name: string; facets: Record<string, string[]> }[];
  codes: Record<string, string>;
  kinds: string[];
  passes: Record<string, string>;
  examples: [string, string][];
  traffic: TrafficState | null;
  given: string | null;
}

const KEY = "dragoman-token";

function takeToken(): void {
  const found = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(KEY, decodeURIComponent(found[1]!));
  history.replaceState(null, "", location.pathname + "#/convert");
}
takeToken();

export function hasToken(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}
export function setToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly at: string | null = null,
  ) {
    super(message);
  }
}

export async function ask(
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const raw = body instanceof Blob;
  const answer = await fetch(`api/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` },
    body: body === undefined ? null : raw ? body : JSON.stringify(body),
    signal: signal ?? null,
  });
  if (!answer.ok) {
    const told = await answer.json().catch(() => null);
    const error = told?.error ?? { message: `status ${answer.status}` };
    throw new Refused(error.message, answer.status, error.at ?? null);
  }
  return answer;
}

export async function json<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return (await ask(path, body, signal)).json() as Promise<T>;
}
