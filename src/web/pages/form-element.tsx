import type { PropsWithChildren } from "hono/jsx";
import type { Input } from "../../panels/panel.ts";
import { formTokenField } from "../access/guard.ts";
import type { Frame } from "../web-env.ts";

interface FormProps {
  frame: Frame;
  action: string;
  class?: string;
}

/** A form that changes something. Carries the session's form token. */
export function Form({ frame, action, class: className, children }: PropsWithChildren<FormProps>) {
  return (
    <form method="post" action={action} class={className}>
      <Hidden fields={{ [formTokenField]: frame.formToken }} />
      {children}
    </form>
  );
}

export function Hidden({ fields }: { fields: Readonly<Record<string, string | undefined>> }) {
  return (
    <>
      {Object.entries(fields).map(
        ([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />,
      )}
    </>
  );
}

interface FieldProps extends Input {
  /** Whether the field may be empty. Default false. A choice may always be. */
  isOptional?: boolean;
}

export function Field({ name, label, value, options, lines, placeholder, isOptional = false }: FieldProps) {
  const text = { name, placeholder, required: !isOptional, spellcheck: false };
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: each of the three is one
    <label>
      <span>{label}</span>{" "}
      {options !== undefined ? (
        <select name={name}>
          {options.map(([one, words]) => (
            <option value={one} selected={one === value}>
              {words}
            </option>
          ))}
        </select>
      ) : lines !== undefined ? (
        <textarea {...text} rows={lines}>
          {value}
        </textarea>
      ) : (
        <input type="text" {...text} value={value} maxlength={500} />
      )}
    </label>
  );
}
