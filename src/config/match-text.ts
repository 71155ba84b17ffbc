import { AppError } from "../core/errors.ts";
import type { Condition, Matcher } from "../core/rules.ts";
import { parseMatch } from "./read-match.ts";

const operators = ["!=", ">=", "<=", "=~", "=", ">", "<"] as const;

/**
 * One matcher of a command line: `severity=critical`, `chain=eth,base`, `token!=USDC`, `value>=5`, `title=~^TVL`,
 * `payload.pool.tvl<1e6`. The first operator counts, so values may hold any of them. Throws `usage`.
 */
export function parseMatchText(text: string): Matcher {
  const { field, operator, value } = split(text);
  try {
    const [matcher] = parseMatch({ [field]: toCondition(operator, value) });
    if (matcher !== undefined) return matcher;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError("usage", `${JSON.stringify(text)}: ${error.message}`);
  }
  throw notAMatcher(text);
}

function split(text: string): { field: string; operator: (typeof operators)[number]; value: string } {
  // A quoted key of a path may hold an operator: payload["a=b"]=c.
  const start = /^(?:[^="<>!~[]|\[[^\]"]*\]|\["(?:[^"\\]|\\.)*"\])+/.exec(text)?.[0];
  const rest = text.slice(start?.length ?? 0);
  const operator = operators.find((candidate) => rest.startsWith(candidate));
  if (start === undefined || operator === undefined) throw notAMatcher(text);
  return { field: start.trim(), operator, value: rest.slice(operator.length).trim() };
}

function notAMatcher(text: string): AppError {
  return new AppError("usage", `${JSON.stringify(text)} is not a matcher.`, {
    hint: "Write field=value, e.g. severity=critical, token!=USDC, value>=5 or title=~^TVL.",
  });
}

function toCondition(
  operator: (typeof operators)[number],
  value: string,
): Record<keyof Condition, unknown> | object {
  const values = value.split(",").map((part) => part.trim());
  switch (operator) {
    case "=":
      return { equals: values };
    case "!=":
      return { not: values };
    case ">":
      return { gt: value };
    case ">=":
      return { gte: value };
    case "<":
      return { lt: value };
    case "<=":
      return { lte: value };
    case "=~":
      return { matches: value };
  }
}
