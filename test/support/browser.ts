// A person's browser, as far as a consent needs one: it keeps cookies for each origin, follows redirects one by one and
// fills in the provider's consent form. It knows the pages, and nothing of the product.

export interface Page {
  status: number;
  address: string;
  text: string;
  headers: Headers;
}

export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();
  /** Every address that was opened, in order. */
  readonly opened: string[] = [];

  /** Opens an address and goes where it leads; stops before an address that no browser opens. */
  async open(address: string, form?: URLSearchParams): Promise<Page> {
    let next = address;
    let body = form;
    for (let hop = 0; hop < 10; hop += 1) {
      this.opened.push(next);
      const response = await fetch(next, {
        method: body === undefined ? 'GET' : 'POST',
        redirect: 'manual',
        headers: { cookie: this.#cookieOf(next) },
        ...(body === undefined ? {} : { body }),
      });
      this.#keep(next, response);
      const location = response.headers.get('location');
      const text = await response.text();
      if (location === null || !/^https?:/.test(location)) {
        return { status: response.status, address: location ?? next, text, headers: response.headers };
      }
      next = location;
      body = undefined;
    }
    throw new Error('it is led around in a circle');
  }

  /** Opens a one-time link, and presses the one button that is on its page. */
  async press(link: string): Promise<Page> {
    const page = await this.open(link);
    if (!/<form method="post"><button>/.test(page.text)) return page;
    return this.open(page.address, new URLSearchParams());
  }

  /** On the provider's consent page: allows as this user, or declines. */
  answer(page: Page, user: string | null): Promise<Page> {
    const action = /<form method="post" action="([^"]*)"/.exec(page.text)?.[1];
    if (action === undefined)
      throw new Error(`no consent form on ${page.address}: ${page.text.slice(0, 500)}`);
    const form = new URLSearchParams();
    for (const [, name, value] of page.text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)) {
      form.set(String(name), String(value));
    }
    if (user === null) form.set('decision', 'decline');
    else form.set('user', user);
    return this.open(new URL(action, page.address).href, form);
  }

  forgetCookies(): void {
    this.#cookies.clear();
  }

  #cookieOf(address: string): string {
    const jar = this.#cookies.get(new URL(address).origin) ?? new Map<string, string>();
    return [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #keep(address: string, response: Response): void {
    const { origin } = new URL(address);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    this.#cookies.set(origin, jar);
  }
}
