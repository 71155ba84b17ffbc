import { basename, dirname } from "node:path";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Call } from "./trace.ts";

/**
 * A disk as POSIX lets it be. What a file was when it was last synced is there after a power cut; of each write,
 * truncation and new length since then anything may be, sector by sector, whatever came before or after it. A sync of
 * one file says nothing of another, and a name is there when its folder was synced. A sync covers what had ended before
 * it began, and holds when it has ended.
 */
export type Disk = ReturnType<typeof createDisk>;

/** By path: what a file holds, or that it is a folder. Folders stand before what they hold. */
export type Image = Map<string, Buffer | "folder">;

interface Operation {
  /** The place of its call. */
  order: number;
  hasEnded: boolean;
}

type Change = Operation &
  ({ kind: "write"; at: number; bytes: Buffer } | { kind: "size"; size: number; cuts: boolean });
type Naming = Operation & { names: [name: string, node: Node | undefined][] };

interface File {
  kind: "file";
  synced: Content;
  pending: Change[];
  /** As the program sees it. */
  length: number;
}

interface Folder {
  kind: "folder";
  synced: Map<string, Node>;
  pending: Naming[];
  /** As the program sees it. */
  live: Map<string, Node>;
}

type Node = File | Folder;

/**
 * The folder `root` is there and on disk from the beginning, with what `found` says, by path.
 *
 * @param isBlank whose content nobody will read: only its length is kept
 */
export function createDisk(root: string, found: Image, isBlank: (path: string) => boolean) {
  const top = newFolder();
  const positions = new Map<string, { at: number; appends: boolean }>();
  const covered = new Map<Call, Operation[]>();
  const operations = new Map<Call, Operation[]>();

  for (const [path, content] of found) {
    const node = content === "folder" ? newFolder() : newFile(content);
    parentOf(path).synced.set(basename(path), node);
    parentOf(path).live.set(basename(path), node);
  }

  function find(path: string): Node | undefined {
    if (path === root) return top;
    const parent = find(dirname(path));
    return parent?.kind === "folder" ? parent.live.get(basename(path)) : undefined;
  }

  function parentOf(path: string): Folder {
    const parent = find(dirname(path));
    if (parent?.kind !== "folder") throw new Error(`the recording has no folder for ${path}`);
    return parent;
  }

  function fileAt(path: string): File {
    const node = find(path);
    if (node?.kind !== "file") throw new Error(`the recording has no file ${path}`);
    return node;
  }

  function note<T extends Operation>(call: Call, pending: T[], operation: T): void {
    pending.push(operation);
    operations.set(call, [...(operations.get(call) ?? []), operation]);
  }

  function name(call: Call, path: string, node: Node | undefined, without?: string): void {
    const folder = parentOf(path);
    const names: Naming["names"] = [[basename(path), node]];
    if (without !== undefined) {
      if (dirname(without) !== dirname(path)) throw new Error(`a move to another folder is not modelled: ${path}`);
      names.unshift([basename(without), undefined]);
    }
    for (const [entry, target] of names) {
      if (target === undefined) folder.live.delete(entry);
      else folder.live.set(entry, target);
    }
    note(call, folder.pending, { order: call.begin, hasEnded: false, names });
  }

  function resize(call: Call, file: File, size: number, cuts: boolean): void {
    file.length = cuts ? size : Math.max(file.length, size);
    note(call, file.pending, { order: call.begin, hasEnded: false, kind: "size", size, cuts });
  }

  function write(call: Call & { kind: "write" }): void {
    const file = fileAt(call.path);
    const position = positions.get(`${call.descriptor}:${call.path}`) ?? { at: 0, appends: false };
    const at = call.at ?? (position.appends ? file.length : position.at);
    if (call.at === undefined) position.at = at + call.bytes.length;
    if (isBlank(call.path)) {
      resize(call, file, at + call.bytes.length, false);
      return;
    }
    file.length = Math.max(file.length, at + call.bytes.length);
    note(call, file.pending, { order: call.begin, hasEnded: false, kind: "write", at, bytes: call.bytes });
  }

  function open(call: Call & { kind: "open" }): void {
    positions.set(`${call.descriptor}:${call.path}`, { at: 0, appends: call.appends });
    const node = find(call.path);
    if (node === undefined) name(call, call.path, newFile());
    else if (call.empties && node.kind === "file") resize(call, node, 0, true);
  }

  return {
    begin(call: Call) {
      switch (call.kind) {
        case "open":
          return open(call);
        case "write":
          return write(call);
        case "truncate":
          return resize(call, fileAt(call.path), call.size, true);
        case "extend":
          return resize(call, fileAt(call.path), call.size, false);
        case "folder":
          return name(call, call.path, newFolder());
        case "rename":
          return name(call, call.to, find(call.from), call.from);
        case "link":
          return name(call, call.to, find(call.from));
        case "unlink":
          return name(call, call.path, undefined);
        case "sync": {
          const pending: Operation[] = find(call.path)?.pending ?? [];
          return void covered.set(
            call,
            pending.filter(({ hasEnded }) => hasEnded),
          );
        }
        case "send":
          return;
      }
    },

    end(call: Call): void {
      for (const operation of operations.get(call) ?? []) operation.hasEnded = true;
      operations.delete(call);
      if (call.kind !== "sync") return;
      const node = find(call.path);
      const done = new Set(covered.get(call));
      covered.delete(call);
      if (node?.kind === "file") {
        for (const change of node.pending) if (done.has(change)) applyChange(node.synced, change, keepAll);
        node.pending = node.pending.filter((change) => !done.has(change));
      } else if (node !== undefined) {
        for (const naming of node.pending) if (done.has(naming)) applyNaming(node.synced, naming);
        node.pending = node.pending.filter((naming) => !done.has(naming));
      }
    },

    /** What is found after a power cut now. */
    cut(random: SeededRandom): Image {
      const choose = createChoice(random, top);
      const image: Image = new Map();
      const visit = (folder: Folder, path: string) => {
        const entries = new Map(folder.synced);
        const keep = choose();
        for (const naming of folder.pending) if (keep.whole(naming)) applyNaming(entries, naming);
        for (const [entry, node] of entries) {
          const place = `${path}/${entry}`;
          if (node.kind === "file") image.set(place, cutFile(node, choose()));
          else {
            image.set(place, "folder");
            visit(node, place);
          }
        }
      };
      visit(top, root);
      return image;
    },
  };
}

const newFolder = (): Folder => ({ kind: "folder", synced: new Map(), pending: [], live: new Map() });

function newFile(bytes: Buffer = Buffer.alloc(0)): File {
  return { kind: "file", synced: { bytes, size: bytes.length }, pending: [], length: bytes.length };
}

function applyNaming(entries: Map<string, Node>, { names }: Naming): void {
  for (const [entry, node] of names) {
    if (node === undefined) entries.delete(entry);
    else entries.set(entry, node);
  }
}

/** What stands on disk beyond `size` is seen only when something makes the file longer. */
type Content = { bytes: Buffer; size: number };

/** What of the unsynced operations has reached the disk. */
interface Keep {
  whole(operation: Operation): boolean;
  /** Of a write: from which byte to which, as sectors cut it. */
  piece(operation: Operation, sector: number): boolean;
  sectorBytes: number;
}

const keepAll: Keep = { whole: () => true, piece: () => true, sectorBytes: Number.MAX_SAFE_INTEGER };

function cutFile(file: File, keep: Keep): Buffer {
  const content = { bytes: Buffer.from(file.synced.bytes), size: file.synced.size };
  for (const change of file.pending) applyChange(content, change, keep);
  const { bytes, size } = content;
  return bytes.length >= size ? bytes.subarray(0, size) : Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]);
}

function applyChange(content: Content, change: Change, keep: Keep): void {
  if (change.kind === "size") {
    if (!keep.whole(change)) return;
    if (change.cuts) content.bytes.fill(0, Math.min(change.size, content.bytes.length));
    content.size = change.cuts ? change.size : Math.max(content.size, change.size);
    return;
  }
  const { at, bytes } = change;
  const end = at + bytes.length;
  const { sectorBytes } = keep;
  for (let from = at; from < end; ) {
    const sector = Math.floor(from / sectorBytes);
    const to = Math.min(end, (sector + 1) * sectorBytes);
    if (keep.piece(change, sector)) {
      makeRoom(content, to);
      bytes.copy(content.bytes, from, from - at, to - at);
    }
    from = to;
  }
  // The length is written apart from the content: zeros are found where only the one came through.
  if (keep.whole(change)) content.size = Math.max(content.size, end);
}

function makeRoom(content: Content, length: number): void {
  if (content.bytes.length >= length) return;
  const larger = Buffer.alloc(Math.max(length, content.bytes.length * 2));
  content.bytes.copy(larger);
  content.bytes = larger;
}

/**
 * How the power goes: one way for the whole disk, or another for each file and folder. Nothing of what was not synced
 * is there, or all of it; or what came before some moment (the write at that moment in part), or only what came after;
 * or any of it.
 */
function createChoice(random: SeededRandom, top: Folder): () => Keep {
  const sectorBytes = random.pick([512, 512, 4096]);
  const orders = [...new Set(pendingOf(top).map(({ order }) => order))].sort((a, b) => a - b);
  const alike = (isKept: (operation: Operation) => boolean) => ({ whole: isKept, piece: isKept });
  const pickMoment = () => (orders.length === 0 ? 0 : random.pick(orders));
  const before = (moment: number, share: number) => ({
    whole: ({ order }: Operation) => order <= moment,
    piece: ({ order }: Operation) => order < moment || (order === moment && random.next() < share),
  });
  const since = (moment: number) => alike(({ order }) => order >= moment);
  const some = (share: number) => alike(() => random.next() < share);
  const ways: (() => Pick<Keep, "whole" | "piece">)[] = [
    ...[() => alike(() => false), () => alike(() => true)],
    ...[
      () => before(pickMoment(), random.next()),
      () => since(pickMoment()),
      () => some(random.pick([0.05, 0.5, 0.95])),
    ],
  ];
  const isMixed = random.next() < 0.4;
  const one = random.pick(ways)();
  return () => ({ ...(isMixed ? random.pick(ways)() : one), sectorBytes });
}

function pendingOf(node: Node): Operation[] {
  if (node.kind === "file") return node.pending;
  const nodes = new Set([...node.live.values(), ...node.synced.values()]);
  return [...node.pending, ...[...nodes].flatMap(pendingOf)];
}
