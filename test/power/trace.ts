import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/**
 * What a recording is made of: the system calls that change files, put them on disk or send something to the outside,
 * in the order in which strace saw them begin and end. What a thread does after a call of another has returned is seen
 * after it: strace holds each thread at both ends of a call until it has written them down.
 */
export type Call = Span & Effect;

interface Span {
  /** Places in the recording. Nothing of the call has happened before `begin`, all of it by `end`. */
  begin: number;
  end: number;
}

/** Paths are absolute. Calls that failed are left out. */
export type Effect =
  | { kind: "open"; path: string; descriptor: number; creates: boolean; empties: boolean; appends: boolean }
  /** `at` is absent where the call writes at the position of its descriptor. */
  | { kind: "write"; path: string; descriptor: number; bytes: Buffer; at?: number }
  | { kind: "truncate"; path: string; size: number }
  | { kind: "extend"; path: string; size: number }
  | { kind: "sync"; path: string }
  | { kind: "folder"; path: string }
  | { kind: "rename"; from: string; to: string }
  | { kind: "link"; from: string; to: string }
  | { kind: "unlink"; path: string }
  /** To a socket, which is known by its number. */
  | { kind: "send"; socket: string; bytes: Buffer };

/** Traced with `-f -y -xx`: every string is in hexadecimal, so that no quotation mark or bracket stands in one. */
export const tracedCalls = [
  ...["open", "openat", "creat", "write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendfile"],
  ...["copy_file_range", "truncate", "ftruncate", "fallocate"],
  ...["fsync", "fdatasync", "sync_file_range", "sync", "syncfs"],
  ...["mkdir", "mkdirat", "rmdir", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"],
];

/** Longer strings are cut by strace, and what is missing counts as zeros: only the ballast is written in such pieces. */
export const longestString = 120_000;

/** Of a file that strace has written: what concerns paths within `root`, and sockets. */
export async function readTrace(file: string, root: string): Promise<Call[]> {
  const marks = [toHex(root), `<${toHex("socket:")}`];
  const started = new Map<string, { begin: number; text: string }>();
  const calls: Call[] = [];
  let place = 0;

  function add(begin: number, text: string): void {
    const end = place;
    place += 1;
    for (const effect of readCall(text)) {
      if (effect.kind === "send" || pathsOf(effect).every((path) => isWithin(root, path)))
        calls.push({ ...effect, begin, end });
    }
  }

  for await (const line of createInterface({ input: createReadStream(file, "latin1"), crlfDelay: Infinity })) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/s.exec(line) ?? [];
    const start = started.get(thread);
    if (rest.startsWith("<... ")) {
      started.delete(thread);
      if (start !== undefined) add(start.begin, start.text + rest.slice(rest.indexOf("resumed>") + 8));
    } else if (marks.some((mark) => rest.includes(mark))) {
      const begin = place;
      place += 1;
      const unfinished = rest.lastIndexOf(" <unfinished ...>");
      if (unfinished === -1) add(begin, rest);
      else started.set(thread, { begin, text: rest.slice(0, unfinished) });
    }
  }
  return calls.sort((a, b) => a.begin - b.begin);
}

const pathsOf = (effect: Exclude<Effect, { kind: "send" }>): string[] =>
  "path" in effect ? [effect.path] : [effect.from, effect.to];

const isWithin = (root: string, path: string) => path === root || path.startsWith(`${root}/`);
const toHex = (text: string) =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
const fromHex = (hex: string) => Buffer.from(hex.replaceAll("\\x", ""), "hex");

/** One whole call, as `name(arguments) = result`. None when it failed or changes nothing. */
function readCall(text: string): Effect[] {
  const name = text.slice(0, text.indexOf("("));
  const equals = text.lastIndexOf(" = ");
  const result = Number.parseInt(text.slice(equals + 3), 10);
  if (!(result >= 0)) return [];
  const args = text.slice(name.length + 1, text.lastIndexOf(")", equals));
  const read = readers[name];
  if (read === undefined) throw new Error(`power cuts after ${name} are not modelled: ${args.slice(0, 200)}`);
  return read(args, result);
}

type Reader = (args: string, result: number) => Effect[];

const each = (names: string, read: Reader) => Object.fromEntries(names.split(" ").map((name) => [name, read]));

const readers: Record<string, Reader> = {
  ...each("open openat", readOpen),
  creat: (args, descriptor) => [
    { kind: "open", path: pathArguments(args)[0] as string, descriptor, creates: true, empties: true, appends: false },
  ],
  ...each("write writev sendto sendmsg", (args, result) => toWrite(args, result)),
  ...each("pwrite64 pwritev", (args, result) => toWrite(args, result, lastNumber(args))),
  ftruncate: (args) => onFile(args, (path) => ({ kind: "truncate", path, size: lastNumber(args) })),
  fallocate(args) {
    const [mode, offset, length] = args.split(", ").slice(1);
    if (mode !== "0") throw new Error(`fallocate in mode ${mode} is not modelled`);
    return onFile(args, (path) => ({ kind: "extend", path, size: Number(offset) + Number(length) }));
  },
  ...each("fsync fdatasync", (args) => onFile(args, (path) => ({ kind: "sync", path }))),
  // Starts writing and promises nothing.
  sync_file_range: () => [],
  ...each("mkdir mkdirat", (args) => [{ kind: "folder", path: pathArguments(args)[0] as string }]),
  ...each("rename renameat renameat2", (args) => betweenNames("rename", args)),
  ...each("link linkat", (args) => betweenNames("link", args)),
  ...each("unlink unlinkat", (args) => [{ kind: "unlink", path: pathArguments(args)[0] as string }]),
};

function readOpen(args: string, descriptor: number): Effect[] {
  const creates = args.includes("O_CREAT");
  const empties = args.includes("O_TRUNC");
  const isWritten = /O_WRONLY|O_RDWR/.test(args);
  if (!creates && !empties && !isWritten) return [];
  const [path] = pathArguments(args);
  return [{ kind: "open", path: path as string, descriptor, creates, empties, appends: args.includes("O_APPEND") }];
}

function betweenNames(kind: "rename" | "link", args: string): Effect[] {
  const [from, to] = pathArguments(args);
  return [{ kind, from: from as string, to: to as string }];
}

function toWrite(args: string, count: number, at?: number): Effect[] {
  const { descriptor, path, isDeleted } = descriptorOf(args);
  if (isDeleted) return [];
  const bytes = bytesOf(args, count);
  if (path.startsWith("socket:")) return [{ kind: "send", socket: path, bytes }];
  return [{ kind: "write", path, descriptor, bytes, at }];
}

function onFile(args: string, make: (path: string) => Effect): Effect[] {
  const { path, isDeleted } = descriptorOf(args);
  return isDeleted ? [] : [make(path)];
}

/** The first argument, e.g. `18<\x2f\x74>`; `(deleted)` behind it when the file has no name any more. */
function descriptorOf(args: string): { descriptor: number; path: string; isDeleted: boolean } {
  const open = args.indexOf("<");
  const close = args.indexOf(">");
  return {
    descriptor: Number.parseInt(args, 10),
    path: fromHex(args.slice(open + 1, close)).toString(),
    isDeleted: args.startsWith("(deleted)", close + 1),
  };
}

/** Each path in quotation marks, taken from the folder that stands before it where it is relative. */
function pathArguments(args: string): string[] {
  const found = args.matchAll(/(?:<((?:\\x[0-9a-f]{2})*)>, )?"((?:\\x[0-9a-f]{2})*)"/g);
  return [...found].map(([, folder, path]) => {
    const text = fromHex(path as string).toString();
    if (text.startsWith("/")) return text;
    if (folder === undefined) throw new Error(`a relative path without its folder: ${text}`);
    return `${fromHex(folder).toString()}/${text}`;
  });
}

/** All strings of the arguments one behind the other, as many bytes as were written. */
function bytesOf(args: string, count: number): Buffer {
  const bytes = Buffer.alloc(count);
  let length = 0;
  for (let open = args.indexOf('"'); open !== -1 && length < count; ) {
    const close = args.indexOf('"', open + 1);
    length += fromHex(args.slice(open + 1, close)).copy(bytes, length);
    open = args.indexOf('"', close + 1);
  }
  return bytes;
}

const lastNumber = (args: string) => Number(args.slice(args.lastIndexOf(", ") + 2));
