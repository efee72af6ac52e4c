/** SQL of more characters is cut. */
const MAX_LENGTH = 2000;

/**
 * Everything that may hold a value, each also where the text is cut within it. Quoted names are matched to be left as
 * they are, so that a digit in one is none.
 */
const PARTS =
  /(?<quote>\bE'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|'(?:[^']|'')*(?:'|$)|(?<![\w$])(?<tag>\$(?:[a-z_]\w*)?\$)[\s\S]*?(?:\k<tag>|$))|(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<name>"(?:[^"]|"")*(?:"|$))|(?<number>(?<![\w$.])(?:\d[\w.]*|\.\d\w*)(?:(?<=e)[+-]\d+)?)/gi;

/** The text of a statement with `?` for each value that stands in it, and without comments; placeholders stay. */
export function queryText(sql: string): string {
  const cut = sql.slice(0, MAX_LENGTH);
  const bare = cut.replace(PARTS, (part: string, ...rest: unknown[]) => {
    const { name, comment } = rest.at(-1) as { name?: string; comment?: string };
    if (name !== undefined) return part;
    return comment === undefined ? '?' : ' ';
  });
  return sql.length > MAX_LENGTH ? `${bare}...` : bare;
}

/** What may stand before the first word: space, comments, parentheses. */
const FIRST_WORD = /^(?:[\s(]|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*([a-z]{2,20})\b/i;

/** `SELECT`, `INSERT` ...: the first word; undefined where a statement begins otherwise. */
export function operationOf(sql: string): string | undefined {
  return FIRST_WORD.exec(sql)?.[1]?.toUpperCase();
}
