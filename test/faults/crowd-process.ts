import { type CrowdOrder, startCrowd } from './crowd.ts'

// Nothing else would end it if the test is killed.
process.once('disconnect', () => process.exit())
process.once('message', ({ texts, ...order }: CrowdOrder) => {
  let asked = 0
  const crowd = startCrowd(order.url, { ...order, request: () => texts[asked++ % texts.length] ?? '' })
  process.once('message', async (how: 'hang up' | 'wait') => {
    if (how === 'hang up') crowd.hangUp()
    else await crowd.done()
    process.send?.({ ...crowd.tally, ms: [] }, () => process.exit())
  })
})
