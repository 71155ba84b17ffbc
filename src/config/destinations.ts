import { z } from "zod";
import { severities } from "../core/alert.ts";
import type { Destination, Pace, QuietHours } from "../core/rules.ts";
import { acrossOptions, flag, listOf, oneOf, optional, refuseAt } from "../ground/shape/field.ts";
import { listed } from "../ground/text/count-of.ts";
import { vendorOf, vendors } from "../vendors/index.ts";
import type { BuildContext, EnvReader, FromEnvironment, Vendor } from "../vendors/vendor.ts";
import { commonOptions, type Defaults, hoursOptions } from "./sections.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { adviseOnDestination, readShape, refuseKind } from "./shape/read-shape.ts";

export const quietHoursSchema = z
  .strictObject({
    ...hoursOptions,
    except: listOf(oneOf(severities), "[critical]", { mayBeEmpty: true })
      .prefault(["critical"])
      .describe(
        "severities that are sent at once: `critical`, `warning`, `info`, `unknown`; `[]` lets nothing through",
      ),
  })
  .transform((hours): QuietHours => hours);

/** Options of destinations, without those in `defaults:` and those of their vendor. */
export const ownOptions = {
  notices: optional(
    flag,
    "`true`: Tocsin's own notices come here; `false`: none do",
    "[only where they are needed](operations.md#who-gets-notices)",
  ),
  quietHours: optional(quietHoursSchema, "hours in which deliveries wait"),
};

const types = vendors.map(({ type }) => type);
const showsPictures = vendors.filter(({ can }) => can.pictures !== undefined).map(({ type }) => type);

const optionsOf = ({ type, can, options }: Vendor) =>
  z
    .strictObject({
      type: z.literal(type).describe(
        listed(
          types.map((one) => `\`${one}\``),
          "or",
        ),
      ),
      ...commonOptions,
      ...ownOptions,
      ...options,
    })
    .check(
      acrossOptions((context) => {
        if (can.pictures !== undefined || context.value.chart !== true) return;
        const others = listed(showsPictures, "and");
        const message = `a destination of type ${type} shows no pictures`;
        refuseAt(context, ["chart"], message, `leave it out; ${others} show them`);
      }),
    );

const [first, ...others] = vendors.map(optionsOf);
export const destinationNames = /^[A-Za-z0-9][\w.:@+-]{0,63}$/;

export const destinationSchema = z
  .discriminatedUnion("type", [first as ReturnType<typeof optionsOf>, ...others])
  .meta({ kind: "destination" });

/** The parts that the environment defines, by vendor. */
export type VendorsEnv = ReadonlyMap<string, FromEnvironment>;

export function readVendorsEnv(reader: EnvReader): VendorsEnv {
  return new Map(
    vendors.flatMap((vendor) =>
      vendor.environment === undefined ? [] : [[vendor.type, vendor.environment(reader)] as const],
    ),
  );
}

export function buildEnvDestinations(env: VendorsEnv, defaults: Defaults): Destination[] {
  return [...env].flatMap(([type, { destinations }]) =>
    destinations.map(({ name, definedAt, own }) => ({
      ...buildBase(name, vendorOf(type), {}, defaults, definedAt),
      ...own,
    })),
  );
}

/** `undefined` after reporting the entry's mistakes. */
export function buildDestination(
  name: string,
  value: unknown,
  { defaults, env, problems }: { defaults: Defaults; env: VendorsEnv; problems: ProblemList },
): Destination | undefined {
  const path = ["destinations", name];
  if (!destinationNames.test(name)) {
    const instead = "use up to 64 letters, digits and . _ - : @ +";
    problems.add(path, "is not a name for a destination", instead, "key");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuseKind("map", value, adviseOnDestination(value), path, problems);
    return undefined;
  }
  const options = readShape(destinationSchema, value, path, problems);
  const vendor = vendors.find(({ type }) => type === Reflect.get(value, "type"));
  if (vendor === undefined) return undefined;
  const context: BuildContext = {
    shared: env.get(vendor.type)?.shared ?? {},
    wasRefused: (variable) => problems.hasEnvProblem(variable),
    refuse: (at, { message, instead }, part) => problems.add([...path, ...at], message, instead, part),
  };
  const completed = vendor.complete === undefined ? {} : vendor.complete(options ?? textsOf(value), context);
  const own = options && vendor.build(options, context);
  if (options === undefined || own === undefined || completed === undefined) return undefined;
  return { ...buildBase(name, vendor, options, defaults, problems.whereIs(path)), ...own, ...completed };
}

/** The readable texts of an entry with mistakes elsewhere, so all mistakes are reported in one run. */
function textsOf(value: object): Record<string, string> {
  return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === "string" && text !== ""));
}

const defaultProveMs = 60 * 60_000;

/** The common part of a destination: its own options, then `defaults:`, then the defaults of its vendor. */
function buildBase(
  name: string,
  vendor: Vendor,
  options: Defaults & { quietHours?: QuietHours; notices?: boolean },
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
    ...(quietHours && { quietHours }),
    ...(options.notices !== undefined && { notices: options.notices }),
    definedAt,
  };
}

/** A default for all channels never exceeds the pace that a vendor allows. */
function slowerPace(a: Pace, b: Pace): Pace {
  const slower = (x: number | undefined, y: number | undefined) => Math.min(x ?? Infinity, y ?? Infinity);
  const perSecond = slower(a.perSecond, b.perSecond);
  const perMinute = slower(a.perMinute, b.perMinute);
  return {
    ...(perSecond === Infinity ? {} : { perSecond }),
    ...(perMinute === Infinity ? {} : { perMinute }),
  };
}
