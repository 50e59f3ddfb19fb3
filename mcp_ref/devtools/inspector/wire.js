"use strict";
// What is sent to the server of the page, and what comes from it. The only script that asks anything.

class Wire {
  constructor(token) {
    this.fields = {"Mcp-Inspector-Token": token, "Content-Type": "application/json"};
    this.cursor = {};
    this.ended = false;
  }

  // Ask for something to be done; throws Error with a text for people.
  async ask(address, given) {
    const answer = await fetch(address, {method: "POST", headers: this.fields, body: JSON.stringify(given)});
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.error);
    return value;
  }

  // Return the session so far as the text of a page.
  async report() {
    const answer = await fetch("report", {method: "POST", headers: this.fields, body: "{}"});
    if (!answer.ok) throw new Error((await answer.json()).error);
    return answer.text();
  }

  // Give news to a function for as long as there is a server. The next ones are asked for when it has taken these, so a
  // flood never piles up here.
  async follow(take, lost) {
    for (let failed = 0; !this.ended;) {
      try {
        const answer = await fetch("events?" + new URLSearchParams(this.cursor), {headers: this.fields});
        const text = await answer.text();
        if (!answer.ok) throw new Error(JSON.parse(text).error);
        const news = JSON.parse(text.slice("data: ".length));
        this.cursor = news.cursor;
        this.ended = news.closed;
        failed = 0;
        lost(news.closed ? "The inspector has ended." : "");
        take(news);
        await new Promise((done) => requestAnimationFrame(done));
      } catch (error) {
        lost("No connection to the inspector: " + error.message);
        if (++failed > 20) return;
        await new Promise((done) => setTimeout(done, 250 * failed));
      }
    }
  }
}
