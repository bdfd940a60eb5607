// Reads a text as bash does, into the words of its simple commands. A text that it may read otherwise than a shell, it
// does not read at all.

import { endOfHere, hereAt, READS_COMMANDS } from "./here-document.mjs";
import { literal, unescaped } from "./shell-quotes.mjs";
import { MAX_SUM, sumAt } from "./shell-sum.mjs";

/** @typedef {import("./here-document.mjs").Here} Here */
/**
 * `lead`: the separators in front of it. ( and ) are those of a subshell, ? are all others.
 * @typedef {{words: string[], files: string[], lead: string, isTest?: boolean}} Command with `literal` texts
 */

/** @typedef {{at?: number, until?: string, lineAt?: number, mayBeSum?: boolean}} Part of a text */

/**
 * How much more a text may hold, that reading it takes no time. `text`: the characters of all words.
 * @typedef {{commands: number, "here-documents": number, levels: number, text: number}} ReadBudget
 */
/** @returns {ReadBudget} */
export const createReadBudget = () => ({
  commands: 1024,
  "here-documents": 64,
  levels: 32,
  text: 256 * 1024,
});

/** What a text holds that shells, or this reader, may read in more than one way. */
export class AmbiguousCommand extends Error {}

/** What stands for the output of a command in a word. */
const OUTPUT = "$()";
/** Behind it more than one command reads what one of them prints. */
const GROUPS = new Set(
  "{ if then else for while until do case select function coproc exec".split(" "),
);

/** What is in quotes stays one word. */
export class Reader {
  /** @type {Command[]} */
  #commands = [{ words: [], files: [], lead: "" }];
  /** Those of substitutions and of what a shell reads. @type {Command[]} */
  #inner = [];
  #text;
  #at;
  #until;
  #lineAt;
  #word = "";
  #open = false;
  /** Whether none of the word is in quotes. */
  #isBare = true;
  /** Whether the next word is a file to read from or write to. */
  #isFile = false;
  /** That begin with the next line. @type {Here[]} */
  #here = [];
  /** Words that end no here-document from here on. @type {Set<string>} */
  #endless = new Set();
  /** The parentheses that are open. @type {string[]} */
  #groups = [];
  #hasGroup = false;
  #hasCase = false;
  /** In what may be a sum, << may be a sign. */
  #mayBeSum;

  #left;

  /** @param {string} text @param {ReadBudget} left @param {Part} [part] */
  constructor(text, left, { at = 0, until = "", lineAt = at, mayBeSum = false } = {}) {
    this.#text = text;
    this.#left = left;
    this.#at = at;
    this.#until = until;
    this.#lineAt = lineAt;
    this.#mayBeSum = mayBeSum;
  }

  /** @returns {{commands: Command[], inner: Command[], end: number}} */
  read() {
    for (; this.#at < this.#text.length; this.#at += 1) {
      const one = this.#text[this.#at];
      if (one === this.#until && this.#groups.length === 0 && !this.#test) break;
      this.#take(one);
    }
    this.#endWord();
    if (this.#test) throw new AmbiguousCommand("[[ without ]]");
    if (this.#until && this.#here.length > 0) throw new AmbiguousCommand("<< without its lines");
    this.#endCommand("");
    let lead = "";
    const commands = this.#commands.flatMap((command) => {
      lead += command.lead;
      if (command.words.length + command.files.length === 0) return [];
      const whole = { ...command, lead };
      lead = "";
      return [whole];
    });
    return { commands, inner: this.#inner, end: this.#at };
  }

  /** @returns {Command} */
  get #last() {
    return /** @type {Command} */ (this.#commands.at(-1));
  }

  /** Whether it is within [[ ]]. */
  get #test() {
    return this.#last.isTest === true;
  }

  /** @param {string} one character */
  #take(one) {
    const next = this.#text[this.#at + 1];
    if (/['"\\$`]/.test(one)) this.#takeQuote(one, next);
    else if (one === "#" && !this.#open && this.#isWordStart()) {
      const end = this.#text.indexOf("\n", this.#at);
      this.#at = end === -1 ? this.#text.length : end - 1;
    } else if (one === "\n") this.#newLine();
    else if (one === " " || one === "\t") this.#endWord();
    else if (/[<>;&|()]/.test(one)) this.#takeSign(one, next);
    else this.#takeLetter(one, next);
  }

  /** @param {string} one @param {string} next */
  #takeSign(one, next) {
    if (one === "<" && next === "<") this.#hereDocument();
    else if (this.#test) this.#endWord();
    else if (/[<>]/.test(one) || (one === "&" && next === ">")) this.#redirected();
    else if (one === "(") this.#openGroup(next);
    else if (one === ")") this.#endCommand(this.#groups.pop() === "(" ? ")" : "?");
    else this.#endCommand(one);
  }

  /** @param {string} one @param {string} next */
  #takeLetter(one, next) {
    if (/\s/.test(one) && !(one === "\r" && next === "\n")) {
      throw new AmbiguousCommand("a blank that not every shell reads as one");
    }
    if (one === "[" && /^[A-Za-z_]\w*$/.test(this.#word)) this.#requireIndex();
    this.#add(one);
  }

  #isWordStart() {
    return this.#at === 0 || /[ \t\n;&|()<>]/.test(this.#text[this.#at - 1]);
  }

  /** In name[…] a shell may read blanks and signs otherwise. */
  #requireIndex() {
    if (/^\[[^\s;&|()<>#'"`\\]*\]/.test(this.#text.slice(this.#at, this.#at + MAX_SUM))) return;
    throw new AmbiguousCommand("[ without a simple ]");
  }

  /** @param {string} one @param {string} next */
  #takeQuote(one, next) {
    if (one === "\\") {
      this.#at += 1;
      if (next !== "\n") this.#addQuoted(next ?? "");
    } else if (one === "'") this.#addQuoted(this.#single(false));
    else if (one === '"') this.#addQuoted(this.#double('"'));
    else if (one === "$" && next === "'") {
      this.#at += 1;
      this.#addQuoted(unescaped(this.#single(true)));
    } else if (one === "$" && next === '"') {
      this.#at += 1;
      this.#addQuoted(this.#double('"'));
    } else if (/^\$\{?IFS\b/.test(this.#text.slice(this.#at, this.#at + 6))) {
      this.#endWord();
      if (next === "{") this.#replaced(false);
      else this.#at += 3;
    } else this.#add(literal(this.#replaced(false)));
  }

  /** @param {string} text */
  #add(text) {
    this.#word += text;
    this.#open = true;
  }

  /** @param {string} text */
  #addQuoted(text) {
    this.#isBare = false;
    this.#add(literal(text));
  }

  /** @param {boolean} escapes of C */
  #single(escapes) {
    const begin = this.#at + 1;
    for (this.#at = begin; this.#at < this.#text.length; this.#at += 1) {
      if (this.#text[this.#at] === "'") break;
      if (escapes && this.#text[this.#at] === "\\") this.#at += 1;
    }
    return this.#text.slice(begin, this.#at);
  }

  /** @param {string} end "" for that of the text, which then begins here @returns {string} */
  #double(end) {
    let text = "";
    if (end !== "") this.#at += 1;
    for (; this.#at < this.#text.length && this.#text[this.#at] !== end; this.#at += 1) {
      const next = this.#text[this.#at + 1] ?? "";
      if (this.#text[this.#at] === "\\") {
        this.#at += 1;
        if (next !== "\n") text += /["\\$`]/.test(next) ? next : `\\${next}`;
      } else text += this.#replaced(true);
    }
    return text;
  }

  /** Stops at the last character of it. @param {boolean} inDouble quotes @returns {string} for what is replaced there; or the character */
  #replaced(inDouble) {
    const one = this.#text[this.#at];
    const next = this.#text[this.#at + 1];
    if (one === "`") return this.#backticks(inDouble);
    if (one !== "$") return one;
    if (next === "(") return this.#substitution(true);
    if (next === "{") return this.#braces(inDouble);
    if (next !== "[") return one;
    const [sum] = /^\$\[[\w\s+\-*/%<>&|^()]*\]/.exec(
      this.#text.slice(this.#at, this.#at + MAX_SUM),
    ) ?? [""];
    if (sum === "") throw new AmbiguousCommand("$[");
    this.#at += sum.length - 1;
    return sum;
  }

  /** @param {keyof ReadBudget} what */
  #count(what) {
    if (--this.#left[what] < 0) throw new AmbiguousCommand(`too many ${what}`);
  }

  /** @param {Reader} reader */
  #keep(reader) {
    this.#count("levels");
    const read = reader.read();
    for (const one of [...read.commands, ...read.inner]) this.#inner.push(one);
    this.#left.levels += 1;
    return read;
  }

  /** From the character in front of ( on. @param {boolean} canSum @returns {string} */
  #substitution(canSum) {
    const isDouble = canSum && this.#text[this.#at + 2] === "(";
    const sum = isDouble ? sumAt(this.#text, this.#at + 1) : "";
    if (sum) {
      this.#at += sum.length;
      return OUTPUT;
    }
    const mayBeSum = this.#mayBeSum || isDouble;
    const part = { at: this.#at + 2, until: ")", lineAt: this.#lineAt, mayBeSum };
    const read = this.#keep(new Reader(this.#text, this.#left, part));
    if (this.#here.length > 0 && this.#text.slice(part.at, read.end).includes("\n")) {
      throw new AmbiguousCommand("a line break in $( ) behind <<");
    }
    this.#at = read.end;
    return OUTPUT;
  }

  /** @param {boolean} inDouble @returns {string} */
  #braces(inDouble) {
    const begin = this.#at;
    if (/[\s|]/.test(this.#text[begin + 2] ?? ""))
      throw new AmbiguousCommand("a command within braces");
    for (
      this.#at += 2;
      this.#at < this.#text.length && this.#text[this.#at] !== "}";
      this.#at += 1
    ) {
      const one = this.#text[this.#at];
      if (one === "\\") this.#at += 1;
      else if (one === '"') this.#double('"');
      else if (one === "'" && inDouble) throw new AmbiguousCommand("a ' within braces in quotes");
      else if (one === "'") this.#single(false);
      else this.#replaced(inDouble);
    }
    return this.#text.slice(begin, this.#at + 1);
  }

  /** @param {boolean} inDouble @returns {string} */
  #backticks(inDouble) {
    const begin = this.#at + 1;
    for (this.#at = begin; this.#at < this.#text.length; this.#at += 1) {
      if (this.#text[this.#at] === "`") break;
      if (this.#text[this.#at] === "\\") this.#at += 1;
    }
    const raw = this.#text.slice(begin, this.#at);
    if (/(^|[\s;&|()])#/.test(raw)) throw new AmbiguousCommand("a comment in ` `");
    const text = raw.replace(inDouble ? /\\(["$`\\])/g : /\\([$`\\])/g, "$1");
    this.#keep(new Reader(text, this.#left, { mayBeSum: this.#mayBeSum }));
    return OUTPUT;
  }

  /** @param {string} next */
  #openGroup(next) {
    const { words, files } = this.#last;
    if (this.#open && /[?*+@!]$/.test(this.#word)) throw new AmbiguousCommand("a pattern with ( )");
    const isStart = !this.#open && !this.#isFile && words.length + files.length === 0;
    if (next === "(" && (isStart || words[0] === "for")) {
      const sum = this.#mayBeSum ? "" : sumAt(this.#text, this.#at);
      this.#mayBeSum ||= sum === "";
      if (sum) {
        this.#at += sum.length - 1;
        this.#add(literal(sum));
        return;
      }
    }
    this.#groups.push(isStart ? "(" : "?");
    this.#endCommand(isStart ? "(" : "?");
  }

  #redirected() {
    if (this.#text[this.#at] !== "&" && this.#text[this.#at + 1] === "(") {
      this.#add(literal(this.#substitution(false)));
      return;
    }
    if (/^\d+$/.test(this.#word)) this.#dropWord(); // a descriptor
    this.#endWord();
    while (/[<>&|]/.test(this.#text[this.#at + 1])) this.#at += 1;
    this.#isFile = true;
  }

  #hereDocument() {
    if (this.#test) throw new AmbiguousCommand("<< in [[ ]]");
    if (this.#text[this.#at + 2] === "<") {
      this.#endWord();
      this.#at += 2;
      return;
    }
    const found = hereAt(this.#text, this.#at + 2);
    if (!found || this.#mayBeSum || !/^[\w./-]*$/.test(this.#word)) {
      throw new AmbiguousCommand("<< that may be no here-document");
    }
    this.#endWord();
    this.#count("here-documents");
    this.#here.push(found.here);
    this.#at = found.next - 1;
  }

  #newLine() {
    if (this.#test) return this.#endWord();
    if (this.#here.length > 0) this.#takeBodies();
    this.#lineAt = this.#at + 1;
    this.#endCommand("\n");
  }

  /** The bodies of here-documents are data, but for what a shell reads and what is replaced in them. */
  #takeBodies() {
    const line = this.#text.slice(this.#lineAt, this.#at);
    const isRead = READS_COMMANDS.test(line);
    const goesOn = this.#hasGroup || this.#groups.length > 0 || /\|&?\s*$/.test(line);
    for (const here of this.#here.splice(0)) {
      const begin = this.#at + 1;
      const name = `${here.tabs}${here.end}`;
      const end = this.#endless.has(name) ? -1 : endOfHere(this.#text, begin, here);
      if (end === -1 && this.#until) throw new AmbiguousCommand("<< without its end");
      if (end === -1) {
        this.#endless.add(name);
        break; // no shell would read it as this
      }
      const reader = new Reader(this.#text.slice(begin, end), this.#left);
      const mayRead = isRead || (goesOn && READS_COMMANDS.test(this.#text.slice(end)));
      if (!mayRead && !here.plain) reader.#double("");
      if (mayRead || !here.plain) this.#keep(reader);
      const next = this.#text.indexOf("\n", end);
      this.#at = next === -1 ? this.#text.length : next;
    }
  }

  #dropWord() {
    this.#word = "";
    this.#open = false;
    this.#isBare = true;
  }

  #endWord() {
    if (!this.#open) return;
    const last = this.#last;
    const word = this.#word;
    if (this.#isBare) {
      if (word === "[[" && last.words.length === 0 && !this.#hasCase) last.isTest = true;
      if (word === "]]") last.isTest = false;
      if (word === "in" && this.#hasCase && this.#until) {
        throw new AmbiguousCommand("case in $( )");
      }
      this.#hasCase ||= word === "case";
      this.#hasGroup ||= GROUPS.has(word);
    }
    last[this.#isFile ? "files" : "words"].push(word);
    this.#isFile = false;
    this.#dropWord();
  }

  /** @param {string} lead of the next one */
  #endCommand(lead) {
    this.#endWord();
    this.#isFile = false;
    if (this.#last.words.length > 0) this.#count("commands");
    this.#commands.push({ words: [], files: [], lead });
  }
}
