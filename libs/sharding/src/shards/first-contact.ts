/** What a database has to pass before it serves for the first time. */
export class FirstContact {
  #check: ((limitMs: number) => Promise<void>) | undefined;

  /** @param check rejects while the database must not serve, and within its limit; once it has resolved it is not asked again */
  require(check: (limitMs: number) => Promise<void>): void {
    this.#check = check;
  }

  async pass(limitMs: number): Promise<void> {
    const check = this.#check;
    if (!check) return;
    await check(limitMs);
    if (this.#check === check) this.#check = undefined;
  }
}
