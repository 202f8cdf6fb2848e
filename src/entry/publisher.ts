/** Work in the background, for programs that bring their own server: publishes pages, erases people, sends webhooks. */
import './needs-node.ts'

export type { Background } from '../adapters/background-work.ts'
export { type BackgroundOptions, startBackground } from '../compose/background.ts'
export { createEraser, type EraserOptions } from '../compose/eraser.ts'
export { createPublisher, type PublisherOptions } from '../compose/publisher.ts'
export { createWebhooks, type WebhooksOptions } from '../compose/webhooks.ts'
