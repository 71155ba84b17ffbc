import { isJsonObject, type Json, JsonNumber, type JsonObject } from "../../core/json.ts";
import { listLeaves } from "../../facts/leaves.ts";
import { guessAlert } from "../../facts/usual-names.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { cut } from "../../ground/text/graphemes.ts";

const shared = ["externalURL", "groupKey", "receiver", "title", "message"] as const;
const commons = ["commonLabels", "commonAnnotations"] as const;

/** Common labels that each alert gets, and common annotations. */
const maxMembers = 100;
/** Units of names and values that all alerts of a batch get together. Each copy is read, stored and shown. */
const maxUnitsOfBatch = 4 * 1024 * 1024;
const maxUnitsOfAlert = 64 * 1024;

/** Cuts what the alerts of a group share, the largest values first: each alert gets a copy. Notes say what is cut. */
export function limitEnvelope(envelope: JsonObject, count: number): { envelope: JsonObject; notes: string[] } {
  const members: Member[] = [...commons.flatMap((holder) => membersOf(envelope[holder], holder))];
  for (const name of shared) {
    const value = envelope[name];
    if (value !== undefined) members.push({ holder: undefined, name, value });
  }
  const limited = Object.create(null) as JsonObject;
  for (const holder of commons) {
    if (isJsonObject(envelope[holder])) limited[holder] = Object.create(null) as JsonObject;
  }
  const kept = cutToFit(members, Math.min(maxUnitsOfAlert, Math.floor(maxUnitsOfBatch / count)));
  let shortened = 0;
  for (const member of members) {
    const value = kept.get(member);
    if (value === undefined) continue;
    if (value !== member.value) shortened += 1;
    const holder = member.holder === undefined ? limited : (limited[member.holder] as JsonObject);
    holder[member.name] = value;
  }
  const left = countMembers(envelope) - kept.size;
  if (left === 0 && shortened === 0) return { envelope: limited, notes: [] };
  const parts = [
    left === 0 ? "" : `${groupThousands(left)} left out`,
    shortened === 0 ? "" : `${groupThousands(shortened)} shortened`,
  ];
  const what = parts.filter((part) => part !== "").join(", ");
  return {
    envelope: limited,
    notes: [`what the request says for all its alerts is cut here (${what}); the raw body has it`],
  };
}

interface Member {
  holder: (typeof commons)[number] | undefined;
  name: string;
  value: Json;
}

function membersOf(common: Json | undefined, holder: Member["holder"]): Member[] {
  if (!isJsonObject(common)) return [];
  const names = Object.keys(common).slice(0, maxMembers);
  return names.map((name) => ({ holder, name, value: common[name] ?? null }));
}

function countMembers(envelope: JsonObject): number {
  const inCommon = commons.map((holder) => envelope[holder]).filter(isJsonObject);
  const members = inCommon.reduce((sum, common) => sum + Object.keys(common).length, 0);
  return members + shared.filter((name) => envelope[name] !== undefined).length;
}

/** Takes the smallest first, so that one huge text does not push out the labels. */
function cutToFit(members: Member[], room: number): Map<Member, Json> {
  const kept = new Map<Member, Json>();
  const sized = members.map((member) => ({ member, units: member.name.length + sizeOf(member.value, room) }));
  let left = room;
  for (const { member, units } of sized.sort((a, b) => a.units - b.units)) {
    const { name, value } = member;
    if (units <= left) kept.set(member, value);
    else if (typeof value === "string" && left > name.length + 2 * unitsOfValue)
      kept.set(member, cut(value, left - name.length - unitsOfValue));
    else continue;
    left -= Math.min(units, left);
  }
  return kept;
}

/** The least cost of a value, in characters. */
const unitsOfValue = 20;

/** Characters of names and values, at least `unitsOfValue` for each value. Stops counting above `limit`. */
function sizeOf(value: Json, limit: number): number {
  if (typeof value === "string") return unitsOfValue + value.length;
  if (value instanceof JsonNumber) return unitsOfValue + value.text.length;
  let size = unitsOfValue;
  if (typeof value !== "object" || value === null) return size;
  for (const name in value) {
    if (size > limit) return size;
    size += name.length + sizeOf((value as JsonObject)[name] ?? null, limit - size);
  }
  return size;
}

/**
 * An alert of a group with the group's common labels, annotations, address, group key and receiver where it has none.
 * The group's title and message are about all its alerts, so only an alert without anything for a title gets them.
 * Neither argument is changed.
 * @param envelope from `limitEnvelope`
 */
export function inheritEnvelope(item: JsonObject, envelope: JsonObject | undefined): JsonObject {
  if (envelope === undefined) return item;
  const merged = Object.assign(Object.create(null) as JsonObject, item);
  mergeInto(merged, "labels", envelope.commonLabels);
  mergeInto(merged, "annotations", envelope.commonAnnotations);
  for (const key of ["externalURL", "groupKey", "receiver"] as const) {
    const value = envelope[key];
    if (merged[key] === undefined && value !== undefined) merged[key] = value;
  }
  if (envelope.title === undefined && envelope.message === undefined) return merged;
  const own = guessAlert(listLeaves(merged).leaves);
  if (own("title").length > 0 || own("text").length > 0) return merged;
  for (const key of ["title", "message"] as const) {
    const value = envelope[key];
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

function mergeInto(merged: JsonObject, key: "labels" | "annotations", common: JsonObject[string] | undefined): void {
  const own = merged[key];
  if (!isJsonObject(common) || (own !== undefined && !isJsonObject(own))) return;
  merged[key] = Object.assign(Object.create(null) as JsonObject, common, own);
}
