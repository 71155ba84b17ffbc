import type { PropsWithChildren } from "hono/jsx";
import { formTokenField } from "../access/guard.ts";
import type { Frame } from "./frame.ts";

interface FormProps {
  frame: Frame;
  action: string;
  class?: string;
}

/** Every form that changes something carries the session's form token. */
export function Form({ frame, action, class: className, children }: PropsWithChildren<FormProps>) {
  return (
    <form method="post" action={action} class={className}>
      <input type="hidden" name={formTokenField} value={frame.formToken} />
      {children}
    </form>
  );
}
