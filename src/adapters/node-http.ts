/** The module `node:http`. To import it evaluates all its exports, and some of them load `fetch`, which takes 13 MB. */
export const http = process.getBuiltinModule('node:http')
