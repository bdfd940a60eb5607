// What the variable of a limit says, as native/base/limits.cc takes it.

/**
 * Nothing where the variable is not set. `wrong` ends a sentence: it is ignored then.
 * @param {Pick<import("../base/addon.js").LimitRow, "least" | "most" | "env">} row
 * @param {NodeJS.ProcessEnv} variables
 * @returns {{value: number} | {wrong: string} | undefined}
 */
export function limitValue({ least, most, env }, variables) {
  const text = variables[env] ?? "";
  if (text === "") return undefined;
  const said = `${env} is "${text.slice(0, 64)}", which is`;
  const value = /^-?\d{1,63}$/.test(text) ? Number(text) : NaN;
  if (value > most) return { wrong: `${said} more than ${most}` };
  return value >= least ? { value } : { wrong: `${said} no whole number of at least ${least}` };
}
