import { AppError, type ErrorCode } from "../core/errors.ts";
import { refusalOf, refusals } from "./refusal.ts";

/** Why a walk ended. `refused`: the page after the last one was refused (400 or 404), which counts as its end. */
export type WalkEnd = "empty" | "repeated" | "refused" | "limit";

export type Page<T> = { number: number; items: T[] };

export interface WalkOptions {
  /** Default: page 0 if there is one, otherwise page 1. The interface does not say at which number pages begin. */
  firstPage?: number;
  /** A limit against a service that never ends. Default 10,000. */
  maxPages?: number;
}

/**
 * Reads page after page, one in memory at a time, and returns why the walk ended. Page 1 is read first, then page 0,
 * which comes before it unless it is refused, fails, is empty or mostly repeats page 1.
 * The interface documents at most 100 items a page, but no end. A walk ends with a page that is empty, is refused, or
 * repeats an earlier one: a page without any key beyond those of the first or the last page. A page with fewer items is
 * no end: "at most" allows it.
 */
export async function* walkPages<T>(
  readPage: (number: number) => Promise<T[]>,
  keyOf: (item: T) => string,
  options: WalkOptions = {},
): AsyncGenerator<Page<T>, WalkEnd> {
  const { firstPage, maxPages = 10_000 } = options;
  const keysOf = (items: T[]) => new Set(items.map(keyOf));
  const begun =
    firstPage === undefined
      ? await findFirstPages(readPage, keysOf)
      : [{ number: firstPage, items: await readPage(firstPage) }];
  let number = begun[0]?.number ?? 1;
  let firstKeys: Set<string> | undefined;
  let lastKeys: Set<string> | undefined;
  for (let read = 0; read < maxPages; read += 1, number += 1) {
    const items = begun.shift()?.items ?? (await tryPage(readPage, number, refusals));
    if (items === undefined) return "refused";
    if (items.length === 0) return "empty";
    const keys = keysOf(items);
    if (isWithin(keys, firstKeys) || isWithin(keys, lastKeys)) return "repeated";
    firstKeys ??= keys;
    lastKeys = keys;
    yield { number, items };
  }
  return "limit";
}

/** A service that counts from 1 may fail at page 0. If every page fails, the next page shows it. */
const noPageZero: readonly ErrorCode[] = [
  ...refusals,
  "upstream_failed",
  "upstream_bad_answer",
  "upstream_unauthorized",
  "upstream_forbidden",
];

/** A service with page 0 alone may refuse page 1. A faulty request is refused at both, and page 1's error is thrown. */
async function findFirstPages<T>(
  readPage: (number: number) => Promise<T[]>,
  keysOf: (items: T[]) => Set<string>,
): Promise<Page<T>[]> {
  const one = await readPage(1).catch(refusalOf);
  const zero = await tryPage(readPage, 0, noPageZero);
  if (one instanceof AppError) {
    if (zero === undefined) throw one;
    return [{ number: 0, items: zero }];
  }
  const first = { number: 1, items: one };
  return zero === undefined || isMostlyWithin(keysOf(zero), keysOf(one))
    ? [first]
    : [{ number: 0, items: zero }, first];
}

async function tryPage<T>(
  readPage: (number: number) => Promise<T[]>,
  number: number,
  missing: readonly ErrorCode[],
): Promise<T[] | undefined> {
  try {
    return await readPage(number);
  } catch (error) {
    if (error instanceof AppError && missing.includes(error.code)) return undefined;
    throw error;
  }
}

function isWithin(keys: Set<string>, others: Set<string> | undefined): boolean {
  return others !== undefined && [...keys].every((key) => others.has(key));
}

/** Like `isWithin`, but a metric may have been added between the two requests. */
function isMostlyWithin(keys: Set<string>, others: Set<string>): boolean {
  const shared = [...keys].filter((key) => others.has(key)).length;
  return keys.size === 0 || shared * 2 > keys.size;
}
