import { wordSet, wordsOf } from "../ground/text/plain-text.ts";
import { type Leaf, laterElement, perPlace } from "./leaves.ts";

/**
 * The one table of usual names, by which facts of alerts, subscriptions and tokens are guessed. The preferred name is
 * first. A name is lower case without separators (`alert_name` and `alertName` are `alertname`). `metric.key` means
 * `key` directly inside `metric`.
 * The names of alerts come from the payloads of Alertmanager, Grafana, Datadog, Sentry, GitHub, Uptime Kuma,
 * CloudWatch, PagerDuty, Opsgenie, Slack, Discord, CloudEvents and Standard Webhooks, and from market-data and trading
 * services.
 */
const alertNames = {
  title: `title alerttitle eventtitle notificationtitle messagetitle subject headline summary alertname alarmname
    rulename alertrulename rule.name monitorname monitorfriendlyname monitor.name checkname check.name incidentname
    problemname triggername searchname
    issue.title pullrequest.title release.name workflowrun.displaytitle workflowrun.name discussion.title
    subscriptionname subscription.name alert triggeredrule strategyname name displayname`,
  weakTitle: `eventtype alerttype notificationtype event type kind action category topic zen`,
  text: `text message description content body msg alertmessage alertdescription alerttext eventmessage eventmsg
    textonly newstatereason alarmdescription errormessage reason details detail note notes comment summary
    headcommit.message issue.body pullrequest.body rule.description heartbeat.msg output caption alertdetails cause`,
  severity: `severity alertseverity sev criticality level alertlevel loglevel alerttype urgency priority alertpriority
    importance impact rule.severity rule.level subscription.severity color`,
  status: `status alertstatus state alertstate newstate newstatevalue currentstate currentstatus alerttypefriendlyname alerttransition
    transition eventaction heartbeat.status monitor.status incident.state issue.state issue.status
    resolved isresolved recovered firing isfiring triggered istriggered action event eventtype type messagetype`,
  metric: `metrickey metric.key metricname metric.name metric.metricname metricid metric.id metric indicator
    subscription.metrickey subscription.metric rule.metric name key`,
  token: `tokensymbol token.symbol metric.tokensymbol metric.token.symbol symbol metric.symbol ticker token asset.symbol
    assetsymbol asset coin metric.token subscription.token pair tradingpair market tokenname token.name metric.tokenname
    tokenaddress token.address metric.tokenaddress metric.token.address contractaddress`,
  chain: `chain chainname chain.name network network.name blockchain metric.chain metric.chain.name metric.network
    token.chain pool.chain metric.token.chain subscription.chain chainid chain.id metric.chainid metric.chain.id
    token.chainid pool.chainid metric.token.chainid subscription.chainid networkid`,
  value: `value currentvalue newvalue metricvalue actualvalue observedvalue latestvalue measuredvalue actual
    metric.value metric.currentvalue metric.current metric.latestvalue metric.lastvalue value.current value.new current
    lastvalue reading currentprice price priceusd lastprice close usdtvl tvl amount values.b values.a
    metric.price value.amount metric.value.amount`,
  previousValue: `previousvalue prevvalue oldvalue priorvalue formervalue value.previous value.old metric.previousvalue
    metric.prevvalue metric.oldvalue metric.previous previousprice prevprice oldprice previous prev before`,
  threshold: `threshold thresholdvalue alertthreshold criticalthreshold thresholdcritical condition.threshold
    rule.threshold subscription.threshold trigger.threshold metric.threshold condition.value
    subscription.condition.value subscription.condition.threshold subscription.value rule.value targetvalue
    target limit targetprice thresholdprice pricethreshold alertprice triggerprice triggervalue limitprice
    pricelimit limitvalue threshold.value limit.value`,
  unit: `unit units valueunit metric.unit metricunit metric.units subscription.unit value.unit metric.value.unit`,
  occurredAt: `occurredat triggeredat firedat eventtime eventtimestamp alerttime alerttimestamp detectedat happenedat
    timestamp time datetime heartbeat.time statechangetime statetransitiontime startsat starttime startedat ts date
    metric.timestamp eventdate sentat timenow createdat created`,
  link: `link alerturl alertlink eventurl incidenturl weburl permalink url href htmlurl dashboardurl panelurl
    generatorurl detailsurl viewurl titlelink chartlink charturl issue.htmlurl pullrequest.htmlurl release.htmlurl
    workflowrun.htmlurl issue.weburl rule.url runbookurl externalurl subscription.url metric.url`,
  externalId: `eventid messageid notificationid deliveryid event.id uuid guid id alertid alert.id incidentid incident.id
    triggerid`,
  source: `source sender application app appname service servicename provider system integration projectname
    repository.fullname project username`,
};

const thresholdNames = `threshold thresholdvalue limit target targetvalue triggervalue level bound value price amount`;

/** Ends of names of time windows, in milliseconds. The longer of two with the same end comes first. */
export const windowUnits: Readonly<Record<string, number>> = {
  ...{ milliseconds: 1, ms: 1, seconds: 1_000, sec: 1_000, minutes: 60_000, min: 60_000, hours: 3_600_000 },
  ...{ s: 1_000, h: 3_600_000 },
};

/** The service documents only `subscription` and `metric` of a subscription. */
const subscriptionNames = {
  id: "id subscriptionid uuid",
  metricKey: "metrickey metric key",
  isOn: "enabled isenabled active isactive",
  isOff: `paused ispaused muted ismuted disabled isdisabled archived isarchived deleted isdeleted`,
  state: "status state",
  condition: `kind type operator op comparator comparison condition conditiontype direction mode trigger triggertype
    alerttype rule when`,
  above: "above over gt gte greaterthan upper upperbound upperthreshold",
  below: "below under lt lte lessthan lower lowerbound lowerthreshold",
  threshold: thresholdNames,
  percent: `percent percentage changepercent pct changepct ${thresholdNames}`,
  window: ends("window timewindow period interval timeframe lookback duration", Object.keys(windowUnits)),
  since: ends("created updated modified changed", ["at", "on", "time"]),
  until: ends("expire expires expiry expiration end ends validuntil activeuntil", wordsOf("at on time date timestamp")),
};

/** Names of containers or members that may keep a subscription silent at times. */
export const restNames =
  wordSet(`schedule activehours quiethours workinghours businesshours hours weekdays activedays days
  muteuntil muteduntil pauseuntil pauseduntil activefrom startsat starttime endtime`);

/** The names inside a metric object, and below inside a token object. */
const metricNames = {
  key: "key metrickey",
  name: "displayname label title metricname name",
  token: "tokensymbol token.symbol symbol",
  chain: "chainid chain network",
};
const tokenNames = { symbol: "symbol tokensymbol ticker name" };

/** Each name alone and with each ending. */
function ends(names: string, endings: readonly string[]): string {
  return wordsOf(names)
    .flatMap((name) => ["", ...endings].map((ending) => name + ending))
    .join(" ");
}

export type FactName = keyof typeof alertNames;

/** Containers that only wrap: a fact inside them is as good as one next to them. */
const wrappers = wordSet(`data alert event payload body detail details labels annotations commonlabels commonannotations
  attributes properties notification message msg params content result record item info extra fields dimensions tags
  trigger attachments embeds evalmatches incident alarm alerts events values customdetails context metricalert object
  items`);

/** Containers of things of their own: their name or state is not the alert's. */
const entities = wordSet(`${laterElement} token tokens pool pools user users sender account owner author actor assignee
  repository organization org team installation footer avatar metric subscription rule monitor heartbeat chain network
  asset previous old before baseline history receiver channel bot device check project links pullrequest headcommit
  commits contexts request exception sdk useragent`);

interface GuessOptions<F extends string> {
  /** Facts that are ignored in an unknown container. */
  shallow: readonly NoInfer<F>[];
  /** Whether a better name in any container comes before a worse one further out. Default false. */
  anywhere?: boolean;
}

interface Pattern {
  fact: number;
  rank: number;
  /** The names before the last one. */
  parents: string[];
  isShallow: boolean;
}

function indexPatterns(table: Readonly<Record<string, string>>, shallow: readonly string[]) {
  const index = new Map<string, Pattern[]>();
  for (const [fact, [name, list]] of Object.entries(table).entries()) {
    for (const [rank, pattern] of wordsOf(list).entries()) {
      const parents = pattern.split(".");
      const last = parents.pop() ?? "";
      index.set(last, [...(index.get(last) ?? []), { fact, rank, parents, isShallow: shallow.includes(name) }]);
    }
  }
  return index;
}

export interface Candidate {
  leaf: Leaf;
  /** Smaller is better: known places first, then the table's order, then depth. */
  score: number;
}

const noCandidates: readonly Candidate[] = [];

/** Longer lists of objects are tables: the first object's facts belong to its row alone. */
const longestList = 20;

/** The step to the first element beyond `longestList`. */
const beyond = `[${longestList}]`;

/** 0: the leaf is in no table. A list `alerts` is none: a batch that is too long gets the name of its first alert. */
const stepsBeyond = perPlace(({ path }) => {
  const at = path.indexOf(beyond);
  return at > 0 && path[at - 1]?.toLowerCase() !== "alerts" ? at + 1 : 0;
});

/** The steps to the tables of a payload, as a tree. */
interface Tables extends Map<string, Tables> {}

function findTables(leaves: readonly Leaf[]): Tables {
  const tables: Tables = new Map();
  for (const leaf of leaves) {
    let node = tables;
    for (const step of leaf.path.slice(0, stepsBeyond(leaf))) {
      const next: Tables = node.get(step) ?? new Map();
      node.set(step, next);
      node = next;
    }
  }
  return tables;
}

/** Whether a leaf is in the first row of a table, at any depth. */
function isOfFirstRow({ path }: Leaf, tables: Tables): boolean {
  let node: Tables | undefined = tables;
  for (const step of path) {
    if (step === "[0]" && node.has(beyond)) return true;
    node = node.get(step);
    if (node === undefined) return false;
  }
  return false;
}

/** Gives the leaves that have one of the fact's names in the table, the best first. */
export type Guess<F extends string> = (leaves: readonly Leaf[]) => (fact: F) => readonly Candidate[];

function createGuess<F extends string>(
  table: Readonly<Record<F, string>>,
  { shallow, anywhere = false }: GuessOptions<F>,
): Guess<F> {
  const facts = Object.keys(table);
  const patterns = indexPatterns(table, shallow);
  /** The facts that a place's names may give, with scores. */
  const matchesOf = perPlace(({ names }) =>
    (patterns.get(names.at(-1) ?? "") ?? []).flatMap((pattern) => {
      const score = scoreOf(names, pattern, anywhere);
      return score === undefined ? [] : [{ fact: pattern.fact, score }];
    }),
  );
  return (leaves) => {
    const found: (Candidate[] | undefined)[] = [];
    const tables = findTables(leaves);
    for (const leaf of leaves) {
      if (isOfFirstRow(leaf, tables)) continue;
      for (const { fact, score } of matchesOf(leaf)) {
        const candidates = found[fact];
        if (candidates === undefined) found[fact] = [{ leaf, score }];
        else candidates.push({ leaf, score });
      }
    }
    for (const candidates of found) {
      if (candidates !== undefined && candidates.length > 1) candidates.sort((a, b) => a.score - b.score);
    }
    return (fact) => found[facts.indexOf(fact)] ?? noCandidates;
  };
}

function scoreOf(names: string[], { rank, parents, isShallow }: Pattern, anywhere: boolean): number | undefined {
  const outside = names.length - 1 - parents.length;
  if (outside < 0 || parents.some((parent, at) => names[outside + at] !== parent)) return undefined;
  let unknown = 0;
  for (let at = 0; at < outside; at += 1) {
    const name = names[at] ?? "";
    if (!anywhere && entities.has(name)) return undefined;
    if (!wrappers.has(name)) unknown += 1;
  }
  if (unknown > 0 && isShallow) return undefined;
  return (anywhere ? 0 : unknown * 100_000) + rank * 100 + outside;
}

export const guessAlert = createGuess(alertNames, {
  shallow: ["status", "externalId", "source", "weakTitle", "previousValue"],
});
export const guessSubscription = createGuess(subscriptionNames, {
  shallow: ["id", "metricKey", "since"],
  anywhere: true,
});
export const guessMetric = createGuess(metricNames, { shallow: ["key", "name", "token", "chain"] });
export const guessToken = createGuess(tokenNames, { shallow: ["symbol"] });

export function withoutWrappers(path: string[]): string[] {
  let start = 0;
  while (start < path.length - 1 && (wrappers.has((path[start] ?? "").toLowerCase()) || path[start] === "[0]"))
    start += 1;
  return path.slice(start);
}
