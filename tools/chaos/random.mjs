// Chance with a seed: the same seed gives the same schedule.

export class Random {
  /** @param {number} seed */
  constructor(seed) {
    this.state = seed >>> 0 || 1;
    for (let i = 0; i < 10; ++i) this.below(2); // small seeds resemble each other at first
  }

  /** @param {number} bound @returns {number} a whole number from 0, less than `bound` */
  below(bound) {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % bound;
  }

  /** @template T @param {readonly T[]} choices @returns {T} */
  pick(choices) {
    return choices[this.below(choices.length)];
  }

  /** @param {number} from @param {number} to */
  between(from, to) {
    return from + this.below(to - from + 1);
  }
}
