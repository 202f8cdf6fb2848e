-- Of an endpoint: the template of the bodies that are sent to it, null for those of Standard Webhooks, and how they are sent.
alter table webhook_endpoints add column body json, add column method text not null default 'POST';
