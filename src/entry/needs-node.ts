/** Imported first: on an older Node the other modules would fail later, without the reason. */
if (Promise.withResolvers === undefined) throw new Error('prospect-pages needs Node 22.13 or newer.')
