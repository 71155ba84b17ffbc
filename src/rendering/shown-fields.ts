import type { AlertFacts, AlertField } from "../core/alert.ts";
import { remember } from "../ground/remember.ts";

/** Readers of a chat read no more fields. */
const mostShown = 6;
const mostNames = 5_000;

/** Names of fields that only programs use, or that repeat a fact of the alert: its number, severity or state. */
const machineNames = new Set(
  `id type kind event eventtype object action trigger condition conditiontype operator comparator comparison
  comparisonoperator direction metric metrickey metricname alertmetric unit severity level priority urgency impact status state
  alerttype alertstate newstatevalue oldstatevalue previousstate currentstate livemode receiver interval code number version
  apiversion schemaid specversion timezone timezoneoffset important installation platform project integrationname token symbol
  tokensymbol tokenaddress tokenname chain chainid network threshold value previous current previousvalue before price
  externalurl generatorurl silenceurl panelurl isautomated valuestring tags queryid userid accountid chainid eventid alertid ruleid
  alias dedupkey fingerprint monitorcondition signaltype importancelevel statechangetime
  blocknum blocknumber resourcetype monitorid subscriptionid checkid messageid requestid traceid orgid projectid awsaccountid topicarn
  alarmarn sid subscription lastping npings period statistic namespace alerttransition orgname`.split(/\s+/),
);
/** Times as digits and letters, for programs. The alert's own time is a fact. */
const instants = /^(?:\d{4}-\d\d-\d\d[T ]\d\d:|1[5-9]\d{8}(?:\d{3})?$)/;
/** Addresses where readers find out what to do. */
const helpfulAddress = /run_?book|play_?book|dashboard|status_?page/i;

/** Judged by the last part of the path. Results are kept, as a sender's names repeat. */
const isForMachines = remember(mostNames, (name: string) => {
  const last = name.slice(name.lastIndexOf(".") + 1);
  if (machineNames.has(last.toLowerCase().replace(/[^a-z0-9]+/g, ""))) return true;
  if (/[a-z0-9\]](?:Id|ID|Ids|Arn|ARN|Uid|UID|Uuid|UUID|At|Timestamp|DateTime|Key|Type|Kind|Event)$/.test(last))
    return true;
  return /_(?:id|ids|uid|uuid|arn|at|ts|timestamp|time|key|type|type_name|kind|event)$/.test(last);
});

/** Whether the value is the address of the alert's subject, which the first line names. */
function isAddressOf({ metric = "" }: AlertFacts, name: string, value: string): boolean {
  if (value.length < 20) return false;
  return metric.toLowerCase().endsWith(value) || /(?:token|pool)[._]?address$/i.test(name);
}

/**
 * Leaves out fields for programs, and those that repeat facts or text. `more`: the others of this kind.
 * @param said the message's text above the fields, in lower case
 */
export function chooseFields(facts: AlertFacts, said: string): { fields: AlertField[]; more: number } {
  const own = new Set(
    [
      facts.value,
      facts.previousValue,
      facts.threshold,
      facts.token,
      facts.chain,
      facts.metric,
      facts.unit,
      facts.link,
      facts.source,
      facts.externalId,
      facts.title,
      facts.severity,
      facts.status,
    ].map((fact) => fact?.toLowerCase()),
  );
  const telling = facts.fields.filter(({ name, value }) => {
    if (isForMachines(name)) return false;
    const lower = value.toLowerCase();
    if (lower === "" || own.has(lower) || (value.length > 2 && said.includes(lower))) return false;
    if (instants.test(lower) || isAddressOf(facts, name, lower)) return false;
    return !/^https?:/.test(lower) || helpfulAddress.test(name);
  });
  const left = Math.max(0, telling.length - mostShown);
  return { fields: telling.slice(0, mostShown), more: left + (facts.unlistedFields ?? 0) };
}
