import { z } from "zod";
import type { Destination, Pace, QuietHours } from "../core/rules.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import { vendorOf, vendors } from "../vendors/index.ts";
import type { BuildContext, EnvReader, FromEnvironment, Vendor } from "../vendors/vendor.ts";
import { type Defaults, destinationOptions } from "./schema.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { adviseOnDestination, readShape, refuseKind } from "./shape/read-shape.ts";

/** What the environment makes, by vendor. */
export type VendorsEnv = ReadonlyMap<string, FromEnvironment>;

export interface DestinationContext {
  defaults: Defaults;
  env: VendorsEnv;
  problems: ProblemList;
  isReference(path: ConfigPath): boolean;
}

export function readVendorsEnv(reader: EnvReader): VendorsEnv {
  return new Map(
    vendors.flatMap((vendor) =>
      vendor.environment === undefined ? [] : [[vendor.type, vendor.environment(reader)] as const],
    ),
  );
}

/** The destinations that the environment alone makes. */
export function buildEnvDestinations(env: VendorsEnv, defaults: Defaults): Destination[] {
  return [...env].flatMap(([type, { destinations }]) =>
    destinations.map(({ name, definedAt, own }) => ({
      ...buildBase(name, vendorOf(type), {}, defaults, definedAt),
      ...own,
    })),
  );
}

/** One entry of `destinations:`; `undefined` after reporting what is wrong with it. */
export function buildDestination(name: string, value: unknown, context: DestinationContext): Destination | undefined {
  const { problems } = context;
  const path = ["destinations", name];
  if (!/^[A-Za-z0-9][\w.:@+-]{0,63}$/.test(name)) {
    const instead = "use up to 64 letters, digits and . _ - : @ +";
    problems.add(path, "is not a name for a destination", instead, "key");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const { message, instead } = refuseKind("map", name, value, adviseOnDestination(value));
    problems.add(path, message, instead);
    return undefined;
  }
  const written: unknown = Reflect.get(value, "type");
  const vendor = vendors.find(({ type }) => type === written);
  if (vendor === undefined) {
    const types = vendors.map(({ type }) => type);
    const known = typeof written === "string" ? suggestOrList(written, types) : `write one of ${types.join(", ")}`;
    const what = written === undefined ? "is missing" : `${showValue(written)} is not a type of destination`;
    problems.add([...path, "type"], what, known);
    return undefined;
  }
  refuseWrittenSecrets(vendor, value, path, context);
  return buildOfVendor(vendor, name, value, path, context);
}

function buildOfVendor(
  vendor: Vendor,
  name: string,
  value: object,
  path: ConfigPath,
  { problems, defaults, env }: DestinationContext,
): Destination | undefined {
  const shape = z.strictObject({ ...destinationOptions, ...vendor.options });
  const options = readShape(shape, value, path, problems);
  const context: BuildContext = {
    shared: env.get(vendor.type)?.shared ?? {},
    wasRefused: (variable) => problems.hasEnvProblem(variable),
    refuse: (at, { message, instead }, part) => problems.add([...path, ...at], message, instead, part),
  };
  if (options?.chart === true && vendor.can.pictures === undefined) {
    const able = vendors.filter(({ can }) => can.pictures !== undefined).map(({ type }) => type);
    const what = `a destination of type ${vendor.type} shows no pictures`;
    const others = `${able.slice(0, -1).join(", ")} and ${able.at(-1)}`;
    problems.add([...path, "chart"], what, `leave it out; ${others} show them`);
  }
  const completed = vendor.complete === undefined ? {} : vendor.complete(options ?? textsOf(value), context);
  const own = options && vendor.build(options, context);
  if (options === undefined || own === undefined || completed === undefined) return undefined;
  return { ...buildBase(name, vendor, options, defaults, problems.whereIs(path)), ...own, ...completed };
}

/** What can be read of an entry that has mistakes elsewhere, so that all are reported in one run. */
function textsOf(value: object): Record<string, string> {
  return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === "string" && text !== ""));
}

interface BaseOptions extends Defaults {
  quietHours?: Omit<QuietHours, "except"> & Partial<Pick<QuietHours, "except">>;
  notices?: boolean;
}

const defaultProveMs = 60 * 60_000;

/** What every destination has, from its own options, then `defaults:`, then the defaults of its vendor. */
function buildBase(
  name: string,
  vendor: Vendor,
  options: BaseOptions,
  defaults: Defaults,
  definedAt: string,
): Destination {
  const { quietHours } = options;
  const prove = options.prove ?? defaults.prove ?? defaultProveMs;
  return {
    name,
    type: vendor.type,
    timeZone: options.timeZone ?? defaults.timeZone ?? "UTC",
    onAmbiguous: options.onAmbiguous ?? defaults.onAmbiguous ?? "retry",
    digestOver: options.digestOver ?? defaults.digestOver ?? 10,
    detail: options.detail ?? defaults.detail ?? "normal",
    ...(vendor.can.pictures === undefined ? {} : { chart: options.chart ?? defaults.chart ?? true }),
    ...(prove === "off" ? {} : { proveEveryMs: prove }),
    pace: options.pace ?? slowerPace(vendor.pace, defaults.pace ?? {}),
    ...(quietHours && { quietHours: { ...quietHours, except: quietHours.except ?? ["critical"] } }),
    ...(options.notices !== undefined && { notices: options.notices }),
    definedAt,
  };
}

/** A default for all channels never drives one faster than its vendor bears. */
function slowerPace(a: Pace, b: Pace): Pace {
  const slower = (x: number | undefined, y: number | undefined) => Math.min(x ?? Infinity, y ?? Infinity);
  const perSecond = slower(a.perSecond, b.perSecond);
  const perMinute = slower(a.perMinute, b.perMinute);
  return {
    ...(perSecond === Infinity ? {} : { perSecond }),
    ...(perMinute === Infinity ? {} : { perMinute }),
  };
}

/** Reports each secret of a destination that is written out instead of referred to. */
function refuseWrittenSecrets(vendor: Vendor, value: object, path: ConfigPath, context: DestinationContext): void {
  const refuse = (at: ConfigPath, what: unknown, variable: string): void => {
    if (typeof what !== "string" || context.isReference(at) || context.problems.hasProblemAt(at)) return;
    const instead = `write \${${variable}} and set that environment variable`;
    context.problems.add(at, "is secret and does not belong in the file", instead);
  };
  const [, name] = path;
  const variableFor = (option: string): string =>
    `${name}_${option}`
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .replace(/\W+/g, "_")
      .toUpperCase();
  for (const option of vendor.secretOptions) {
    const written: unknown = Reflect.get(value, option);
    if (Array.isArray(written)) {
      for (const [index, item] of written.entries()) refuse([...path, option, index], item, variableFor(option));
    } else refuse([...path, option], written, variableFor(option));
  }
  const headers: unknown = Reflect.get(value, "headers");
  if (typeof headers !== "object" || headers === null) return;
  for (const [header, content] of Object.entries(headers)) {
    if (!/auth|token|key|secret|cookie|signature|password/i.test(header)) continue;
    refuse([...path, "headers", header], content, variableFor(header));
  }
}
