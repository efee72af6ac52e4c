/** A URL to its end, or to its last `@` where the password has quotes; `password=...`; `password '...'`. */
const CONFIDENTIAL =
  /\b[a-z][\w+.-]*:\/\/(?:\S*@)?[^\s"']+|\w*password\s*=\s*(?:''[^']+''|'(?:[^'\\]|\\.|'')*'|"[^"]*"|\S*)|\bpassword\s+'(?:[^']|'')*'/gi;

/** Text of others without what can hold a password. */
export function withoutSecrets(text: string): string {
  return text.replace(CONFIDENTIAL, '[hidden]');
}
