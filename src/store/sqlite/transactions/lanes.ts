/** The condition of every statement that writes for a lane; its parameters are the group and the fence. */
export const underFence = "(SELECT fence FROM lanes WHERE lane_group = ?) = ?";
