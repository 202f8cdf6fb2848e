/** What works in the background, for programs that bring their own server: one publishes pages, one erases persons, one sends webhooks. */
import './needs-node.ts'

export { createEraser, type Eraser, type EraserOptions } from '../compose/eraser.ts'
export { createPublisher, type Publisher, type PublisherOptions } from '../compose/publisher.ts'
export { createWebhooks, type Webhooks, type WebhooksOptions } from '../compose/webhooks.ts'
