"use strict";
// The beginning: the page of a session, with a desk beside it where the session goes on.

const record = JSON.parse(at("record").textContent);
const page = new Page(record);
const desk = record.live ? new Live(page, record.live) : null;
