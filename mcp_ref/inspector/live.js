"use strict";
class Live {}
