import fp from 'fastify-plugin'
import {
  createdPage,
  groupQuery,
  newPage,
  newProspectLog,
  pageGroupSlice,
  pageSlice,
  pageWithVersion,
  prospectLogReceipt,
  sliceQuery,
} from '../../rival-parts.js'

/** The shared schemas, which routes refer to by name. */
export default fp(async (fastify) => {
  const schemas = {
    createdPage,
    groupQuery,
    newPage,
    newProspectLog,
    pageGroupSlice,
    pageSlice,
    pageWithVersion,
    prospectLogReceipt,
    sliceQuery,
  }
  for (const [name, schema] of Object.entries(schemas)) fastify.addSchema({ $id: name, ...schema })
})
