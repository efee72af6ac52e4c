/** What a database has to pass before it serves for the first time. */
export class FirstContact {
  #check: (() => Promise<void>) | undefined;

  /** @param check rejects while the database must not serve; once it has resolved it is not asked again */
  require(check: () => Promise<void>): void {
    this.#check = check;
  }

  async pass(): Promise<void> {
    const check = this.#check;
    if (!check) return;
    await check();
    if (this.#check === check) this.#check = undefined;
  }
}
